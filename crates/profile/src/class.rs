//! What classes of instructions are called in reports.

use assay_agx::Class;

pub(crate) fn class_name(class: Class) -> &'static str {
    match class {
        Class::Float32 => "float32",
        Class::Float16 => "float16",
        Class::Logic => "moves and logic",
        Class::IntegerAdd => "integer add",
        Class::IntegerMultiply => "integer multiply",
        Class::BitField => "shifts and bit fields",
        Class::BitCount => "bit counting",
        Class::Select => "compare and select",
        Class::Convert => "conversions",
        Class::Round => "rounding",
        Class::Transcendental => "transcendental",
        Class::Derivative => "derivatives",
        Class::SpecialRegister => "special registers",
        Class::CrossLane => "shuffles and ballots",
        Class::Reduction => "reductions",
        Class::Matrix => "matrix",
        Class::DeviceMemory => "device memory",
        Class::ThreadgroupMemory => "threadgroup memory",
        Class::StackMemory => "stack",
        Class::Texture => "textures",
        Class::Image => "image writes",
        Class::Tile => "tile",
        Class::Varying => "varyings",
        Class::UniformStore => "uniform stores",
        Class::Control => "control",
        Class::Synchronisation => "waits and barriers",
        Class::Other => "other",
    }
}
