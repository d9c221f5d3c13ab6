//! Variadic functions: `NSLog`, `stringWithFormat:` and the like. Rust has none, so small functions in assembly build a `va_list`
//! of their arguments, which [`Arguments`] reads.

use crate::collections;
use crate::error::exception;
use crate::string::{NSSTRING, description, string, text};
use assay_objc::{Id, MethodRow, Sel, Strong};
use std::arch::naked_asm;
use std::ffi::{CString, c_char, c_int};

/// A `va_list` as System V has it on x86-64.
#[cfg(target_arch = "x86_64")]
#[repr(C)]
#[derive(Debug)]
pub struct Arguments {
    general: u32,
    float: u32,
    stack: *const u8,
    saved: *const u8,
}

#[cfg(target_arch = "x86_64")]
impl Arguments {
    unsafe fn next_integer(&mut self) -> u64 {
        // SAFETY: the caller of the variadic function passed what its format says.
        unsafe {
            if self.general < 48 {
                self.general += 8;
                return *self.saved.add(self.general as usize - 8).cast();
            }
            self.next_on_stack()
        }
    }

    unsafe fn next_float(&mut self) -> f64 {
        // SAFETY: as above.
        unsafe {
            if self.float < 176 {
                self.float += 16;
                return *self.saved.add(self.float as usize - 16).cast();
            }
            f64::from_bits(self.next_on_stack())
        }
    }

    unsafe fn next_on_stack(&mut self) -> u64 {
        // SAFETY: as above.
        unsafe {
            let value = *self.stack.cast();
            self.stack = self.stack.add(8);
            value
        }
    }
}

/// A `va_list` as arm64's procedure call standard has it.
#[cfg(target_arch = "aarch64")]
#[repr(C)]
#[derive(Debug)]
pub struct Arguments {
    stack: *const u8,
    general_end: *const u8,
    float_end: *const u8,
    general: i32,
    float: i32,
}

#[cfg(target_arch = "aarch64")]
impl Arguments {
    unsafe fn next_integer(&mut self) -> u64 {
        // SAFETY: the caller of the variadic function passed what its format says.
        unsafe {
            if self.general < 0 {
                self.general += 8;
                return *self.general_end.offset(self.general as isize - 8).cast();
            }
            self.next_on_stack()
        }
    }

    unsafe fn next_float(&mut self) -> f64 {
        // SAFETY: as above.
        unsafe {
            if self.float < 0 {
                self.float += 16;
                return *self.float_end.offset(self.float as isize - 16).cast();
            }
            f64::from_bits(self.next_on_stack())
        }
    }

    unsafe fn next_on_stack(&mut self) -> u64 {
        // SAFETY: as above.
        unsafe {
            let value = *self.stack.cast();
            self.stack = self.stack.add(8);
            value
        }
    }
}

/// Declares a variadic function: it builds a `va_list` behind so many named arguments and passes it as the next argument.
macro_rules! variadic {
    ($($(#[$attribute:meta])* $name:ident, $named:literal, $x86:literal, $arm:literal => $target:path;)*) => {$(
        $(#[$attribute])*
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "sub rsp, 216",
                ".cfi_def_cfa_offset 224",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov [rsp + 32], r8",
                "mov [rsp + 40], r9",
                "test al, al",
                "jz 2f",
                "movaps [rsp + 48], xmm0",
                "movaps [rsp + 64], xmm1",
                "movaps [rsp + 80], xmm2",
                "movaps [rsp + 96], xmm3",
                "movaps [rsp + 112], xmm4",
                "movaps [rsp + 128], xmm5",
                "movaps [rsp + 144], xmm6",
                "movaps [rsp + 160], xmm7",
                "2:",
                concat!("mov dword ptr [rsp + 176], 8 * ", $named),
                "mov dword ptr [rsp + 180], 48",
                "lea rax, [rsp + 224]",
                "mov [rsp + 184], rax",
                "mov [rsp + 192], rsp",
                concat!("lea ", $x86, ", [rsp + 176]"),
                "call {target}",
                "add rsp, 216",
                ".cfi_def_cfa_offset 8",
                "ret",
                ".cfi_endproc",
                target = sym $target,
            )
        }

        $(#[$attribute])*
        #[cfg(target_arch = "aarch64")]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "stp x29, x30, [sp, #-240]!",
                ".cfi_def_cfa_offset 240",
                ".cfi_offset x29, -240",
                ".cfi_offset x30, -232",
                "mov x29, sp",
                "stp x0, x1, [sp, #16]",
                "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]",
                "stp x6, x7, [sp, #64]",
                "stp q0, q1, [sp, #80]",
                "stp q2, q3, [sp, #112]",
                "stp q4, q5, [sp, #144]",
                "stp q6, q7, [sp, #176]",
                "add x9, sp, #240",
                "str x9, [sp, #208]",
                "add x9, sp, #80",
                "str x9, [sp, #216]",
                "add x9, sp, #208",
                "str x9, [sp, #224]",
                concat!("mov w9, #-8 * (8 - ", $named, ")"),
                "str w9, [sp, #232]",
                "mov w9, #-128",
                "str w9, [sp, #236]",
                concat!("add ", $arm, ", sp, #208"),
                "bl {target}",
                "ldp x29, x30, [sp], #240",
                ".cfi_def_cfa_offset 0",
                "ret",
                ".cfi_endproc",
                target = sym $target,
            )
        }
    )*};
}
variadic! {
    /// `NSLog`.
    #[unsafe(no_mangle)]
    NSLog, 1, "rsi", "x1" => log;
    /// `+stringWithFormat:`.
    string_with_format, 3, "rcx", "x3" => make;
    /// `-initWithFormat:`.
    init_with_format, 3, "rcx", "x3" => init;
    /// `-appendFormat:`.
    append_format, 3, "rcx", "x3" => append;
    /// `-stringByAppendingFormat:`.
    appending_format, 3, "rcx", "x3" => appending;
    /// `+arrayWithObjects:`.
    array_with_objects, 3, "rcx", "x3" => array;
    /// `+dictionaryWithObjectsAndKeys:`.
    dictionary_with_objects, 3, "rcx", "x3" => dictionary;
    /// `+raise:format:`.
    raise_format, 4, "r8", "x4" => raise;
}

unsafe extern "C-unwind" fn log(pattern: Id, arguments: *mut Arguments) {
    // SAFETY: the caller passes a format and what it says.
    let line = unsafe { format(text(pattern), &mut *arguments) };
    assay_objc::diagnostics::tell(&line);
}

unsafe extern "C-unwind" fn make(_class: Id, _: Sel, pattern: Id, arguments: *mut Arguments) -> Id {
    // SAFETY: as above.
    unsafe { string(&format(text(pattern), &mut *arguments)).autoreleased() }
}

unsafe extern "C-unwind" fn init(this: Id, _: Sel, pattern: Id, arguments: *mut Arguments) -> Id {
    // SAFETY: as above; the receiver is a new string.
    unsafe {
        let made = format(text(pattern), &mut *arguments);
        let initialise = Sel::new(c"initWithString:");
        assay_objc::message::send_with(this, initialise, string(&made).id())
    }
}

unsafe extern "C-unwind" fn append(this: Id, _: Sel, pattern: Id, arguments: *mut Arguments) {
    // SAFETY: as above; the receiver is a mutable string.
    unsafe {
        let made = format(text(pattern), &mut *arguments);
        assay_objc::message::send_with::<_, ()>(
            this,
            Sel::new(c"appendString:"),
            string(&made).id(),
        );
    }
}

unsafe extern "C-unwind" fn appending(
    this: Id,
    _: Sel,
    pattern: Id,
    arguments: *mut Arguments,
) -> Id {
    // SAFETY: as above; the receiver is a string.
    unsafe {
        let made = format(text(pattern), &mut *arguments);
        string(&[text(this), &made].concat()).autoreleased()
    }
}

/// Objects up to nil.
unsafe fn objects(first: Id, arguments: &mut Arguments) -> Vec<Strong> {
    let mut all = Vec::new();
    let mut next = first;
    while !next.is_null() {
        // SAFETY: the list ends with nil.
        unsafe {
            all.push(Strong::retain(next));
            next = arguments.next_integer() as usize as Id;
        }
    }
    all
}

unsafe extern "C-unwind" fn array(_class: Id, _: Sel, first: Id, arguments: *mut Arguments) -> Id {
    // SAFETY: the caller passes objects and nil.
    collections::array(unsafe { objects(first, &mut *arguments) }).autoreleased()
}

unsafe extern "C-unwind" fn dictionary(
    _class: Id,
    _: Sel,
    first: Id,
    arguments: *mut Arguments,
) -> Id {
    // SAFETY: as above.
    let all = unsafe { objects(first, &mut *arguments) };
    let pairs = all
        .chunks_exact(2)
        .map(|pair| (pair[1].clone(), pair[0].clone()));
    collections::dictionary(pairs.collect()).autoreleased()
}

unsafe extern "C-unwind" fn raise(
    _class: Id,
    _: Sel,
    name: Id,
    pattern: Id,
    arguments: *mut Arguments,
) {
    // SAFETY: the caller passes a format and what it says.
    unsafe {
        let reason = format(text(pattern), &mut *arguments);
        let raised = exception(text(name), &reason).autoreleased();
        assay_objc::exception::objc_exception_throw(raised)
    }
}

const fn row(on_class: bool, selector: &'static std::ffi::CStr, function: *const ()) -> MethodRow {
    MethodRow {
        on_class,
        selector,
        types: c"@@:@",
        function,
    }
}

/// Rows of the variadic methods: Rust tables declare them with a function that is replaced by these.
static STRING: &[MethodRow] = &[
    row(true, c"stringWithFormat:", string_with_format as *const ()),
    row(false, c"initWithFormat:", init_with_format as *const ()),
    row(
        false,
        c"stringByAppendingFormat:",
        appending_format as *const (),
    ),
    MethodRow {
        on_class: false,
        selector: c"appendFormat:",
        types: c"v@:@",
        function: append_format as *const (),
    },
];
static ARRAY: &[MethodRow] = &[row(
    true,
    c"arrayWithObjects:",
    array_with_objects as *const (),
)];
static DICTIONARY: &[MethodRow] = &[row(
    true,
    c"dictionaryWithObjectsAndKeys:",
    dictionary_with_objects as *const (),
)];
static EXCEPTION: &[MethodRow] = &[MethodRow {
    on_class: true,
    selector: c"raise:format:",
    types: c"v@:@@",
    function: raise_format as *const (),
}];

/// Adds the variadic methods to their classes.
pub(crate) fn register() {
    NSSTRING.class.add_rows(STRING);
    collections::NSARRAY.class.add_rows(ARRAY);
    collections::NSDICTIONARY.class.add_rows(DICTIONARY);
    crate::error::NSEXCEPTION.class.add_rows(EXCEPTION);
}

unsafe extern "C" {
    fn snprintf(to: *mut c_char, room: usize, pattern: *const c_char, ...) -> c_int;
}

/// One conversion as C's own formatting makes it.
macro_rules! converted {
    ($pattern:expr, $value:expr) => {{
        let pattern = CString::new($pattern).unwrap_or_default();
        let mut room = vec![0u8; 512];
        for _ in 0..2 {
            // SAFETY: the pattern has one conversion of the value's type, and the room is as said.
            #[allow(unused_unsafe)]
            let needed = unsafe {
                snprintf(
                    room.as_mut_ptr().cast(),
                    room.len(),
                    pattern.as_ptr(),
                    $value,
                )
            };
            let needed = usize::try_from(needed).unwrap_or(0);
            if needed < room.len() {
                room.truncate(needed);
                break;
            }
            room = vec![0u8; needed + 1];
        }
        String::from_utf8_lossy(&room).into_owned()
    }};
}

/// A format with its arguments in place.
///
/// # Safety
/// The arguments must be those the format names.
pub unsafe fn format(pattern: &str, arguments: &mut Arguments) -> String {
    let mut made = String::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('%') {
        made += before;
        let flags: String = after
            .chars()
            .take_while(|c| "-+ #0123456789.*".contains(*c))
            .collect();
        let sizes: String = after[flags.len()..]
            .chars()
            .take_while(|c| "hlqjztL".contains(*c))
            .collect();
        let Some(kind) = after[flags.len() + sizes.len()..].chars().next() else {
            made.push('%');
            rest = after;
            continue;
        };
        rest = &after[flags.len() + sizes.len() + kind.len_utf8()..];
        let mut spelled = String::new();
        for c in flags.chars() {
            match c {
                // SAFETY: as the caller promises.
                '*' => spelled += &(unsafe { arguments.next_integer() } as i32).to_string(),
                other => spelled.push(other),
            }
        }
        // SAFETY: as above.
        unsafe {
            match kind {
                '%' => made.push('%'),
                '@' => {
                    let object = arguments.next_integer() as usize as Id;
                    made += &converted!(
                        format!("%{spelled}s"),
                        CString::new(description(object))
                            .unwrap_or_default()
                            .as_ptr()
                    );
                }
                'd' | 'i' | 'u' | 'x' | 'X' | 'o' | 'c' => {
                    let value = arguments.next_integer();
                    let sizes = sizes.replace('q', "ll");
                    made += &converted!(format!("%{spelled}{sizes}{kind}"), value);
                }
                'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A' => {
                    made += &converted!(format!("%{spelled}{kind}"), arguments.next_float());
                }
                's' => {
                    let text = arguments.next_integer() as usize as *const c_char;
                    let text = if text.is_null() {
                        c"(null)".as_ptr()
                    } else {
                        text
                    };
                    made += &converted!(format!("%{spelled}s"), text);
                }
                'p' => {
                    made += &converted!(
                        format!("%{spelled}p"),
                        arguments.next_integer() as usize as *const u8
                    )
                }
                other => {
                    made.push('%');
                    made.push(other);
                }
            }
        }
    }
    made + rest
}
