//! Modules that outlive the bitcode they were read from: names and strings copied.

use super::metadata::{Metadata, MetadataPool};
use super::module::{Alias, Body, Function, GlobalVariable, Module};
use std::borrow::Cow;

impl Module<'_> {
    /// The module with copies of the names and strings it borrowed from the bitcode.
    pub fn into_owned(self) -> Module<'static> {
        Module {
            producer: self.producer,
            triple: self.triple,
            data_layout: self.data_layout,
            source_name: self.source_name,
            types: self.types,
            attributes: self.attributes,
            sections: self.sections,
            globals: self.globals.into_iter().map(global).collect(),
            functions: self.functions.into_iter().map(function).collect(),
            aliases: self.aliases.into_iter().map(alias).collect(),
            values: self.values,
            constants: self.constants,
            metadata: pool(self.metadata),
            sync_scopes: self.sync_scopes,
            bodies: self.bodies.into_iter().map(body).collect(),
        }
    }
}

fn name(name: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(name.into_owned())
}

fn global(global: GlobalVariable<'_>) -> GlobalVariable<'static> {
    GlobalVariable {
        name: name(global.name),
        ty: global.ty,
        space: global.space,
        constant: global.constant,
        initializer: global.initializer,
        align: global.align,
        section: global.section,
        linkage: global.linkage,
        externally_initialized: global.externally_initialized,
    }
}

fn function(function: Function<'_>) -> Function<'static> {
    Function {
        name: name(function.name),
        ty: function.ty,
        attributes: function.attributes,
        section: function.section,
        linkage: function.linkage,
        body: function.body,
        value: function.value,
    }
}

fn alias(alias: Alias<'_>) -> Alias<'static> {
    Alias {
        name: name(alias.name),
        target: alias.target,
    }
}

fn body(body: Body<'_>) -> Body<'static> {
    Body {
        function: body.function,
        first_local: body.first_local,
        values: body.values,
        constants: body.constants,
        instructions: body.instructions,
        blocks: body.blocks,
        operands: body.operands,
        indices: body.indices,
        locations: body.locations,
        metadata: pool(body.metadata),
        first_metadata: body.first_metadata,
        attachments: body.attachments,
    }
}

fn pool(pool: MetadataPool<'_>) -> MetadataPool<'static> {
    MetadataPool {
        items: pool.items.into_iter().map(metadata).collect(),
        operands: pool.operands,
        named: pool.named,
        kinds: pool.kinds,
    }
}

fn metadata(item: Metadata<'_>) -> Metadata<'static> {
    match item {
        Metadata::String(bytes) => Metadata::String(Cow::Owned(bytes.into_owned())),
        Metadata::Value(value) => Metadata::Value(value),
        Metadata::Node(span) => Metadata::Node(span),
        Metadata::Location(location) => Metadata::Location(location),
        Metadata::File { name, directory } => Metadata::File { name, directory },
        Metadata::Scope {
            parent,
            file,
            name,
            line,
        } => Metadata::Scope {
            parent,
            file,
            name,
            line,
        },
        Metadata::Other(code) => Metadata::Other(code),
    }
}
