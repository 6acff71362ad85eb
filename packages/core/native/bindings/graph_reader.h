// A plan as Python writes it, see `Node` in _native.pyi.
#ifndef PACKAGES_CORE_NATIVE_BINDINGS_GRAPH_READER_H_
#define PACKAGES_CORE_NATIVE_BINDINGS_GRAPH_READER_H_

#include <nanobind/nanobind.h>

#include "packages/core/native/executor/graph_def.h"

namespace qanat {

GraphDef read_graph(nanobind::sequence nodes, nanobind::sequence fetches,
                    nanobind::sequence targets);

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_BINDINGS_GRAPH_READER_H_
