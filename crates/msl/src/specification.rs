//! The attributes of the Metal Shading Language Specification, and what becomes of each.
//!
//! Names are those of the specification's tables (version 4). An attribute is implemented,
//! says nothing about what a kernel computes, belongs to functions that are no kernels
//! (which are not compiled), or is refused by its name where it would matter. A name that is
//! not here is taken for a mistake.

/// What becomes of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// A value each thread is given: kernel parameters and variables at program scope.
    Input,
    /// Where an argument is bound.
    Binding,
    /// Says something about a function or variable that the pass reads.
    Declaration,
    /// Changes nothing about what a kernel computes.
    Hint,
    /// Of vertex, fragment, tile, object, mesh and intersection functions, and of the structures between them.
    OtherStage,
    /// A feature that is missing, in words.
    Refused(&'static str),
}

use Treatment::{Binding, Declaration, Hint, Input, OtherStage, Refused};

const IMAGEBLOCKS: &str = "imageblocks";
const STAGE_IN: &str = "stage input of kernels";
const RAY_TRACING: &str = "ray tracing";

/// Every attribute.
pub(crate) const ATTRIBUTES: &[(&str, Treatment)] = &[
    // Kernel function inputs.
    ("dispatch_quadgroups_per_threadgroup", Input),
    ("dispatch_simdgroups_per_threadgroup", Input),
    ("dispatch_threads_per_threadgroup", Input),
    ("grid_origin", Input),
    ("grid_size", Input),
    ("quadgroup_index_in_threadgroup", Input),
    ("quadgroups_per_threadgroup", Input),
    ("simdgroup_index_in_threadgroup", Input),
    ("simdgroups_per_threadgroup", Input),
    ("thread_execution_width", Input),
    ("thread_index_in_quadgroup", Input),
    ("thread_index_in_simdgroup", Input),
    ("thread_index_in_threadgroup", Input),
    ("thread_position_in_grid", Input),
    ("thread_position_in_threadgroup", Input),
    ("threadgroup_position_in_grid", Input),
    ("threadgroups_per_grid", Input),
    ("threads_per_grid", Input),
    ("threads_per_simdgroup", Input),
    ("threads_per_threadgroup", Input),
    // Arguments.
    ("buffer", Binding),
    ("sampler", Binding),
    ("texture", Binding),
    ("threadgroup", Binding),
    // Functions and variables.
    ("function_constant", Declaration),
    ("host_name", Declaration),
    ("kernel", Declaration),
    ("max_total_threads_per_threadgroup", Declaration),
    // Nothing about results.
    ("alias", Hint),
    ("always_inline", Hint),
    ("deprecated", Hint),
    ("dont_unroll", Hint),
    ("fallthrough", Hint),
    ("id", Hint),
    ("likely", Hint),
    ("max_total_threadgroups_per_mesh_grid", Hint),
    ("maybe_unused", Hint),
    ("no_unique_address", Hint),
    ("nodiscard", Hint),
    ("noinline", Hint),
    ("noreturn", Hint),
    ("required_threads_per_threadgroup", Hint),
    ("stitchable", Hint),
    ("unlikely", Hint),
    ("unused", Hint),
    ("user", Hint),
    ("user_annotation", Hint),
    ("visible", Hint),
    // Vertex and fragment functions, tessellation, tiles, meshes.
    ("amplification_count", OtherStage),
    ("amplification_id", OtherStage),
    ("attribute", OtherStage),
    ("barycentric_coord", OtherStage),
    ("base_instance", OtherStage),
    ("base_vertex", OtherStage),
    ("center_no_perspective", OtherStage),
    ("center_perspective", OtherStage),
    ("centroid_no_perspective", OtherStage),
    ("centroid_perspective", OtherStage),
    ("clip_distance", OtherStage),
    ("color", OtherStage),
    ("depth", OtherStage),
    ("early_fragment_tests", OtherStage),
    ("flat", OtherStage),
    ("fragment", OtherStage),
    ("front_facing", OtherStage),
    ("index", OtherStage),
    ("instance_id", OtherStage),
    ("invariant", OtherStage),
    ("mesh", OtherStage),
    ("object", OtherStage),
    ("patch", OtherStage),
    ("patch_id", OtherStage),
    ("patch_tessellation_factor", OtherStage),
    ("pixel_position_in_tile", OtherStage),
    ("pixels_per_tile", OtherStage),
    ("point_coord", OtherStage),
    ("point_size", OtherStage),
    ("position", OtherStage),
    ("position_in_patch", OtherStage),
    ("primitive_culled", OtherStage),
    ("primitive_id", OtherStage),
    ("raster_order_group", OtherStage),
    ("render_target_array_index", OtherStage),
    ("sample_id", OtherStage),
    ("sample_mask", OtherStage),
    ("sample_no_perspective", OtherStage),
    ("sample_perspective", OtherStage),
    ("shared", OtherStage),
    ("stencil", OtherStage),
    ("threadgroups_per_mesh_grid", OtherStage),
    ("threads_per_mesh_threadgroup", OtherStage),
    ("tile_index", OtherStage),
    ("vertex", OtherStage),
    ("vertex_id", OtherStage),
    ("viewport_array_index", OtherStage),
    // Features that are missing.
    ("accept_intersection", Refused(RAY_TRACING)),
    ("barycentric_coord_curve", Refused(RAY_TRACING)),
    ("continue_search", Refused(RAY_TRACING)),
    ("direction", Refused(RAY_TRACING)),
    ("distance", Refused(RAY_TRACING)),
    ("explicit_imageblock_layout", Refused(IMAGEBLOCKS)),
    ("geometry_id", Refused(RAY_TRACING)),
    (
        "geometry_intersection_function_table_offset",
        Refused(RAY_TRACING),
    ),
    ("imageblock_data", Refused(IMAGEBLOCKS)),
    ("implicit_imageblock_layout", Refused(IMAGEBLOCKS)),
    (
        "instance_intersection_function_table_offset",
        Refused(RAY_TRACING),
    ),
    ("intersection", Refused(RAY_TRACING)),
    ("max_distance", Refused(RAY_TRACING)),
    ("min_distance", Refused(RAY_TRACING)),
    ("object_to_world_transform", Refused(RAY_TRACING)),
    ("opaque_primitive", Refused(RAY_TRACING)),
    ("origin", Refused(RAY_TRACING)),
    ("payload", Refused(RAY_TRACING)),
    ("primitive_data", Refused(RAY_TRACING)),
    ("stage_in", Refused(STAGE_IN)),
    ("threadgroup_imageblock", Refused(IMAGEBLOCKS)),
    ("user_instance_id", Refused(RAY_TRACING)),
    ("world_space_data", Refused(RAY_TRACING)),
    ("world_space_direction", Refused(RAY_TRACING)),
    ("world_space_origin", Refused(RAY_TRACING)),
    ("world_to_object_transform", Refused(RAY_TRACING)),
];

/// What becomes of the attribute called `name`; nothing if the specification has none.
pub(crate) fn treatment(name: &str) -> Option<Treatment> {
    let bare = name.trim_matches('_');
    let mut all = ATTRIBUTES.iter();
    all.find(|(known, _)| *known == bare).map(|(_, it)| *it)
}

/// Words of features that are missing, as they stand between quotes in the compiler's messages.
const FEATURES: &[(&str, &str)] = &[
    ("acceleration_structure", RAY_TRACING),
    ("instance_acceleration_structure", RAY_TRACING),
    ("primitive_acceleration_structure", RAY_TRACING),
    ("intersection_function_table", RAY_TRACING),
    ("intersection_params", RAY_TRACING),
    ("intersection_query", RAY_TRACING),
    ("intersection_result", RAY_TRACING),
    ("intersection_type", RAY_TRACING),
    ("intersector", RAY_TRACING),
    ("raytracing", RAY_TRACING),
    ("ray", RAY_TRACING),
    ("metal_raytracing", RAY_TRACING),
    ("visible_function_table", "function tables"),
    ("metal_visible_function_table", "function tables"),
    ("command_buffer", INDIRECT),
    ("compute_command", INDIRECT),
    ("render_command", INDIRECT),
    ("render_pipeline_state", INDIRECT),
    ("compute_pipeline_state", INDIRECT),
    ("metal_command_buffer", INDIRECT),
    ("mesh", MESH),
    ("mesh_grid_properties", MESH),
    ("metal_mesh", MESH),
    ("imageblock", IMAGEBLOCKS),
    ("metal_imageblocks", IMAGEBLOCKS),
    ("r8unorm", IMAGEBLOCKS),
    ("rgba8unorm", IMAGEBLOCKS),
    ("int4b_format", SMALL_INTEGERS),
    ("uint4b_format", SMALL_INTEGERS),
    (
        "execution_dsimdgroups",
        "scopes of a varying number of simdgroups",
    ),
];
const INDIRECT: &str = "indirect command buffers";
const MESH: &str = "mesh shading";
const SMALL_INTEGERS: &str = "tensors of four-bit integers";

/// The missing feature a message of the compiler is about, by a name it quotes.
pub(crate) fn missing_feature(message: &str) -> Option<&'static str> {
    let quoted = message.split('\'').skip(1).step_by(2);
    let mut features = quoted.filter_map(|name| {
        let bare = name.rsplit("::").next().unwrap_or(name);
        let bare = bare.split('<').next().unwrap_or(bare);
        let mut all = FEATURES.iter();
        all.find(|(known, _)| *known == bare).map(|(_, it)| *it)
    });
    features.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attribute_stands_once_and_inputs_are_those_kernels_read() {
        let mut names: Vec<&str> = ATTRIBUTES.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        let before = names.len();
        names.dedup();
        assert_eq!(names.len(), before);
        for (name, treatment) in ATTRIBUTES {
            let reads = crate::parameter::BUILTINS.contains(name);
            assert_eq!(reads, *treatment == Input, "{name}");
        }
    }

    #[test]
    fn features_are_recognised_by_quoted_names() {
        let say = missing_feature;
        assert_eq!(
            say("no template named 'intersector' in namespace 'metal::raytracing'"),
            Some(RAY_TRACING)
        );
        assert_eq!(
            say("unknown type name 'metal::command_buffer'"),
            Some(INDIRECT)
        );
        assert_eq!(say("use of undeclared identifier 'rays'"), None);
    }
}
