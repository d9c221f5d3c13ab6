//! Any bytes as a job from the network: read without a panic; one without a signature is believed by nobody who asks for one, and
//! a command line that may run opens only inputs of the job.

#![no_main]

use assay_fleet::{Job, Signed, Trust};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(signed) = Signed::read(bytes) {
        assert!(signed.job(&Trust::default()).is_err() || !signed.bytes().is_empty());
        let _ = signed.unverified();
    }
    let Ok(job) = serde_json::from_slice::<Job>(bytes) else {
        return;
    };
    let _ = (job.key(), job.check("0.1.0"));
    for input in &job.inputs {
        let _ = input.bytes();
    }
});
