"""qanat_proto_library: Python for .proto files, by the protoc inside the grpcio-tools wheel.

`packages/core/schema/graph.proto` is imported by other .proto files as `qanat/core/schema/graph.proto`,
and by Python as `qanat.core.schema.graph_pb2`.
"""

load("//tools/python:defs.bzl", "installed_path", "qanat_py_providers")

_ProtoInfo = provider(
    doc = "The .proto files of a library and of all that it imports.",
    fields = {"sources": "depset of File"},
)

def _impl(ctx):
    endings = ["_pb2.py", "_pb2.pyi"] + (["_pb2_grpc.py"] if ctx.attr.grpc else [])
    outputs = []
    for source in ctx.files.srcs:
        stem = source.basename[:-len(".proto")]
        outputs += [ctx.actions.declare_file(stem + ending) for ending in endings]
    sources = depset(
        ctx.files.srcs,
        transitive = [d[_ProtoInfo].sources for d in ctx.attr.deps],
    )
    arguments = ctx.actions.args()
    arguments.add_all(outputs, before_each = "--out")
    arguments.add_all([installed_path(s) for s in ctx.files.srcs], before_each = "--proto")
    ctx.actions.run(
        executable = ctx.executable._generate,
        arguments = [arguments],
        inputs = sources,
        mnemonic = "QanatProto",
        outputs = outputs,
        progress_message = "Generating Python for %s" % ctx.label,
    )
    runtime = [ctx.attr._protobuf] + ([ctx.attr._grpcio] if ctx.attr.grpc else [])
    return qanat_py_providers(ctx, outputs, ctx.attr.deps + runtime) + [_ProtoInfo(sources = sources)]

qanat_proto_library = rule(
    doc = "A qanat_py_library of the _pb2 modules (and _pb2_grpc with `grpc`) of .proto files.",
    implementation = _impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".proto"], mandatory = True),
        "deps": attr.label_list(providers = [_ProtoInfo]),
        "grpc": attr.bool(),
        "_generate": attr.label(cfg = "exec", default = "//tools/proto:generate", executable = True),
        "_grpcio": attr.label(default = "@pypi//:grpcio"),
        "_protobuf": attr.label(default = "@pypi//:protobuf"),
    },
)
