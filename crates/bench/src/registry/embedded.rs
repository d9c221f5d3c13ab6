//! The files of the folder `kernels/`, put into the program when it is built (`build.rs`).

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
