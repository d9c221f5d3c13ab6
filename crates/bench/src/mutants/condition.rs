//! Conditions that are nearly right.

use assay_ssa::{FloatCond, IntCond};

pub(super) fn moved(cond: IntCond) -> Option<IntCond> {
    Some(match cond {
        IntCond::Ult => IntCond::Ule,
        IntCond::Ule => IntCond::Ult,
        IntCond::Ugt => IntCond::Uge,
        IntCond::Uge => IntCond::Ugt,
        IntCond::Slt => IntCond::Sle,
        IntCond::Sle => IntCond::Slt,
        IntCond::Sgt => IntCond::Sge,
        IntCond::Sge => IntCond::Sgt,
        IntCond::Eq | IntCond::Ne => return None,
    })
}

pub(super) fn other_tie(cond: FloatCond) -> Option<FloatCond> {
    Some(match cond {
        FloatCond::Ogt => FloatCond::Oge,
        FloatCond::Oge => FloatCond::Ogt,
        FloatCond::Olt => FloatCond::Ole,
        FloatCond::Ole => FloatCond::Olt,
        FloatCond::Ugt => FloatCond::Uge,
        FloatCond::Uge => FloatCond::Ugt,
        FloatCond::Ult => FloatCond::Ule,
        FloatCond::Ule => FloatCond::Ult,
        _ => return None,
    })
}

pub(super) fn inverse(cond: FloatCond) -> Option<FloatCond> {
    Some(match cond {
        FloatCond::Ogt => FloatCond::Ole,
        FloatCond::Oge => FloatCond::Olt,
        FloatCond::Olt => FloatCond::Oge,
        FloatCond::Ole => FloatCond::Ogt,
        FloatCond::Oeq => FloatCond::Une,
        FloatCond::Une => FloatCond::Oeq,
        FloatCond::Ugt => FloatCond::Ule,
        FloatCond::Uge => FloatCond::Ult,
        FloatCond::Ult => FloatCond::Uge,
        FloatCond::Ule => FloatCond::Ugt,
        _ => return None,
    })
}
