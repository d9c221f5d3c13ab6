//! Functions that code calls: loads and stores that the CPU has no vector instruction for.

use std::fmt::Write as _;

/// Loads and stores of short numbers lane by lane: the CPU has no vector instruction for them.
pub(super) fn helper(text: &mut String, ty: &str) {
    let _ = write!(
        text,
        "define internal <32 x {ty}> @gather_{ty}(<32 x ptr> %p, i32 %mask) #1 {{
entry:
  %places = alloca <32 x ptr>, align 64
  %result = alloca <32 x {ty}>, align 64
  store <32 x ptr> %p, ptr %places
  store <32 x {ty}> zeroinitializer, ptr %result
  br label %loop
loop:
  %left = phi i32 [ %mask, %entry ], [ %rest, %one ]
  %more = icmp ne i32 %left, 0
  br i1 %more, label %one, label %end
one:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %at = getelementptr ptr, ptr %places, i32 %lane
  %place = load ptr, ptr %at
  %number = load {ty}, ptr %place, align 1
  %to = getelementptr {ty}, ptr %result, i32 %lane
  store {ty} %number, ptr %to
  br label %loop
end:
  %all = load <32 x {ty}>, ptr %result
  ret <32 x {ty}> %all
}}
define internal void @scatter_{ty}(<32 x {ty}> %numbers, <32 x ptr> %p, i32 %mask) #1 {{
entry:
  %places = alloca <32 x ptr>, align 64
  %given = alloca <32 x {ty}>, align 64
  store <32 x ptr> %p, ptr %places
  store <32 x {ty}> %numbers, ptr %given
  br label %loop
loop:
  %left = phi i32 [ %mask, %entry ], [ %rest, %one ]
  %more = icmp ne i32 %left, 0
  br i1 %more, label %one, label %end
one:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %at = getelementptr ptr, ptr %places, i32 %lane
  %place = load ptr, ptr %at
  %from = getelementptr {ty}, ptr %given, i32 %lane
  %number = load {ty}, ptr %from
  store {ty} %number, ptr %place, align 1
  br label %loop
end:
  ret void
}}
"
    );
}
