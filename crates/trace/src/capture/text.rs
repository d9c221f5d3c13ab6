//! A capture as text.

use super::Capture;
use crate::render::text::TextStyle;

pub(crate) fn render(_capture: &Capture, _style: TextStyle) -> String {
    String::new()
}
