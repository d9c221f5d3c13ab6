//! Samplers.

use crate::address::Allocation;
use crate::device;
use crate::plain;
use crate::report::wrong_use;
use assay_foundation::string::string;
use assay_objc::root::NSOBJECT;
use assay_objc::{Bool, Id, Strong, class};
use assay_texture::{Address, Border, Compare, Filter, Mip, Reduction, Sampler};
use std::sync::Arc;

/// A sampler.
#[derive(Debug, Default)]
pub struct SamplerState {
    pub(crate) sampler: Sampler,
    allocation: Arc<Allocation>,
    label: Strong,
}

impl SamplerState {
    /// What stands for it in an argument buffer.
    pub(crate) fn handle(&self) -> u64 {
        self.allocation.address()
    }
}

/// `MTLSamplerAddressMode` in its order; mirroring once is not among what kernels can be run with.
const ADDRESSES: [Option<Address>; 6] = [
    Some(Address::ClampToEdge),
    None,
    Some(Address::Repeat),
    Some(Address::MirroredRepeat),
    Some(Address::ClampToZero),
    Some(Address::ClampToBorder),
];
/// `MTLCompareFunction` in its order.
const COMPARES: [Compare; 8] = [
    Compare::Never,
    Compare::Less,
    Compare::Equal,
    Compare::LessEqual,
    Compare::Greater,
    Compare::NotEqual,
    Compare::GreaterEqual,
    Compare::Always,
];
const FILTERS: [Filter; 2] = [Filter::Nearest, Filter::Linear];
const MIPS: [Mip; 3] = [Mip::None, Mip::Nearest, Mip::Linear];
const BORDERS: [Border; 3] = [
    Border::TransparentBlack,
    Border::OpaqueBlack,
    Border::OpaqueWhite,
];

/// The sampler of a descriptor; nil if there is none like it.
///
/// # Safety
/// The descriptor must be one, or nil.
pub(crate) unsafe fn sampler(descriptor: Id) -> Strong {
    // SAFETY: the caller's promise.
    match unsafe { described(descriptor) } {
        Err(why) => {
            wrong_use(&format!(
                "newSamplerStateWithDescriptor: {why}; nil is answered"
            ));
            Strong::nil()
        }
        Ok(sampler) => {
            // SAFETY: a label is a string or nil; `SamplerState` is the state of the class.
            unsafe {
                let label = plain::get::<Id>(descriptor, c"label").unwrap_or(std::ptr::null_mut());
                SAMPLER.make(SamplerState {
                    sampler,
                    allocation: Allocation::of_sampler(sampler),
                    label: Strong::retain(label),
                })
            }
        }
    }
}

unsafe fn described(descriptor: Id) -> Result<Sampler, String> {
    // SAFETY: the caller's descriptor is one, or nil.
    let (number, level, is_normalized) = unsafe {
        (
            |name| plain::get::<u64>(descriptor, name).unwrap_or(0) as usize,
            |name| plain::get::<f32>(descriptor, name).unwrap_or(0.0),
            plain::get::<Bool>(descriptor, c"normalizedCoordinates").is_none_or(Bool::get),
        )
    };
    let wrong = |what: &str, value: usize| format!("{what} {value} is not available");
    let filter = |name, what| {
        let value = number(name);
        FILTERS.get(value).copied().ok_or(wrong(what, value))
    };
    let address = |name| {
        let value = number(name);
        let found = ADDRESSES.get(value).copied().flatten();
        found.ok_or(wrong("address mode", value))
    };
    let mip = number(c"mipFilter");
    let border = number(c"borderColor");
    let compare = number(c"compareFunction");
    let sampler = Sampler {
        normalized: is_normalized,
        mag: filter(c"magFilter", "filter")?,
        min: filter(c"minFilter", "filter")?,
        mip: *MIPS.get(mip).ok_or(wrong("mip filter", mip))?,
        address: [
            address(c"sAddressMode")?,
            address(c"tAddressMode")?,
            address(c"rAddressMode")?,
        ],
        border: *BORDERS.get(border).ok_or(wrong("border colour", border))?,
        compare: *COMPARES
            .get(compare)
            .ok_or(wrong("compare function", compare))?,
        anisotropy: number(c"maxAnisotropy").clamp(1, 16) as u32,
        lod_min: level(c"lodMinClamp"),
        lod_max: level(c"lodMaxClamp"),
        reduction: Reduction::WeightedAverage,
    };
    sampler.check()?;
    Ok(sampler)
}

class! {
    /// `id<MTLSamplerState>`.
    pub SAMPLER = "AssayMTLSamplerState": NSOBJECT, SamplerState, ["MTLSamplerState"];
    - "label" "@@:" (this) -> Id { string(assay_foundation::text(this.label.id())).autoreleased() }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "gpuResourceID" "{MTLResourceID=Q}@:" (this) -> u64 { this.handle() }
}
