//! The recorder of GPU times, for Python programs that time their own command buffers.

use crate::errors;
use assay_timing::{
    CommandBufferId, CommandBufferSample, DispatchSample, RecorderOptions, TimeSource,
};
use pyo3::prelude::*;

/// Records times by label.
#[pyclass(frozen, module = "assay._native")]
pub(crate) struct Recorder {
    inner: assay_timing::Recorder,
}

#[pymethods]
impl Recorder {
    #[new]
    fn new(py: Python<'_>, source: &str) -> PyResult<Self> {
        let all = [TimeSource::Measured, TimeSource::Modelled, TimeSource::Host];
        let time_source = all.into_iter().find(|known| known.name() == source);
        let time_source = time_source.ok_or_else(|| {
            let message = format!("`{source}` is no source of times");
            errors::usage(py, &message, "measured (a GPU's clock), modelled or host")
        })?;
        let options = RecorderOptions {
            time_source,
            process_name: Some("python".to_owned()),
            ..RecorderOptions::default()
        };
        Ok(Recorder {
            inner: assay_timing::Recorder::with_options(&options),
        })
    }

    /// Adds a duration to a label.
    fn record(&self, label: &str, ns: u64) {
        self.inner.record(label, ns);
    }

    /// Adds a command buffer with its times, and returns its number.
    #[pyo3(signature = (label, start_ns, end_ns, committed_ns=None))]
    fn command_buffer(
        &self,
        label: &str,
        start_ns: u64,
        end_ns: u64,
        committed_ns: Option<u64>,
    ) -> u64 {
        let id = self.inner.begin_command_buffer();
        let label = self.inner.label(label);
        self.inner.record_command_buffer(&CommandBufferSample {
            committed_ns,
            ..CommandBufferSample::new(id, label, start_ns, end_ns)
        });
        id.get()
    }

    /// Adds a dispatch of a command buffer.
    fn dispatch(
        &self,
        command_buffer: u64,
        label: &str,
        kernel: &str,
        index: u32,
        start_ns: u64,
        end_ns: u64,
    ) {
        self.inner.record_dispatch(&DispatchSample {
            command_buffer: CommandBufferId::from_raw(command_buffer),
            label: self.inner.label(label),
            kernel: self.inner.label(kernel),
            index,
            start_ns,
            end_ns,
        });
    }

    /// Forgets everything recorded.
    fn reset(&self) {
        self.inner.reset();
    }

    /// Everything recorded: `text`, `json`, `csv`, `dispatch-csv`, `chrome` or `recording`.
    fn export(&self, py: Python<'_>, format: &str) -> PyResult<String> {
        let snapshot = self.inner.snapshot();
        match format {
            "text" => Ok(snapshot.to_text()),
            "json" => Ok(snapshot.to_json()),
            "csv" => Ok(snapshot.to_csv()),
            "dispatch-csv" => Ok(snapshot.to_dispatch_csv()),
            "chrome" => Ok(snapshot.to_chrome_trace()),
            "recording" => Ok(snapshot.to_recording()),
            other => Err(errors::usage(
                py,
                &format!("recordings are not exported as `{other}`"),
                "text, json, csv, dispatch-csv, chrome or recording",
            )),
        }
    }
}
