//! Devices that answer most questions as another device does.

/// Methods of [`Device`](crate::Device) that a field answers, named one by one so that what is left out is written by hand.
///
/// ```
/// use assay_device::*;
///
/// /// A CPU whose buffers cannot be freed.
/// #[derive(Debug)]
/// struct Hoarder(CpuDevice, u32);
///
/// impl Device for Hoarder {
///     forward_device!(0: facts compile load functions pipeline pipeline_facts);
///     forward_device!(0: buffer buffer_size write read submit wait);
///     fn release(&mut self, _: BufferId) -> Result<(), Error> {
///         self.1 += 1;
///         Ok(())
///     }
/// }
/// ```
#[macro_export]
macro_rules! forward_device {
    ($to:tt: $($method:ident)*) => { $($crate::forward_device!(@ $method $to);)* };
    (@ facts $to:tt) => {
        fn facts(&self) -> &$crate::DeviceFacts { self.$to.facts() }
    };
    (@ compile $to:tt) => {
        fn compile(
            &mut self,
            source: $crate::Source<'_>,
            options: &$crate::CompileOptions,
        ) -> Result<$crate::LibraryId, $crate::Error> {
            self.$to.compile(source, options)
        }
    };
    (@ load $to:tt) => {
        fn load(&mut self, bytes: Vec<u8>) -> Result<$crate::LibraryId, $crate::Error> {
            self.$to.load(bytes)
        }
    };
    (@ functions $to:tt) => {
        fn functions(&self, library: $crate::LibraryId) -> Result<Vec<String>, $crate::Error> {
            self.$to.functions(library)
        }
    };
    (@ pipeline $to:tt) => {
        fn pipeline(
            &mut self,
            library: $crate::LibraryId,
            function: &str,
            constants: &[$crate::Constant],
        ) -> Result<$crate::PipelineId, $crate::Error> {
            self.$to.pipeline(library, function, constants)
        }
    };
    (@ pipeline_facts $to:tt) => {
        fn pipeline_facts(
            &self,
            pipeline: $crate::PipelineId,
        ) -> Result<&$crate::PipelineFacts, $crate::Error> {
            self.$to.pipeline_facts(pipeline)
        }
    };
    (@ buffer $to:tt) => {
        fn buffer(
            &mut self,
            bytes: u64,
            storage: $crate::Storage,
        ) -> Result<$crate::BufferId, $crate::Error> {
            self.$to.buffer(bytes, storage)
        }
    };
    (@ buffer_size $to:tt) => {
        fn buffer_size(&self, buffer: $crate::BufferId) -> Result<u64, $crate::Error> {
            self.$to.buffer_size(buffer)
        }
    };
    (@ write $to:tt) => {
        fn write(
            &mut self,
            buffer: $crate::BufferId,
            offset: u64,
            bytes: &[u8],
        ) -> Result<(), $crate::Error> {
            self.$to.write(buffer, offset, bytes)
        }
    };
    (@ read $to:tt) => {
        fn read(
            &mut self,
            buffer: $crate::BufferId,
            offset: u64,
            bytes: &mut [u8],
        ) -> Result<(), $crate::Error> {
            self.$to.read(buffer, offset, bytes)
        }
    };
    (@ release $to:tt) => {
        fn release(&mut self, buffer: $crate::BufferId) -> Result<(), $crate::Error> {
            self.$to.release(buffer)
        }
    };
    (@ submit $to:tt) => {
        fn submit(
            &mut self,
            dispatches: Vec<$crate::Dispatch>,
        ) -> Result<$crate::SubmissionId, $crate::Error> {
            self.$to.submit(dispatches)
        }
    };
    (@ wait $to:tt) => {
        fn wait(
            &mut self,
            submission: $crate::SubmissionId,
        ) -> Result<$crate::Finished, $crate::Error> {
            self.$to.wait(submission)
        }
    };
    (@ settle $to:tt) => {
        fn settle(&mut self, dispatches: &[$crate::Dispatch]) -> Result<(), $crate::Error> {
            self.$to.settle(dispatches)
        }
    };
    (@ sanitize $to:tt) => {
        fn sanitize(
            &mut self,
            dispatch: &$crate::Dispatch,
        ) -> Result<Option<Vec<$crate::Report>>, $crate::Error> {
            self.$to.sanitize(dispatch)
        }
    };
}
