// Tasks, their connections and steps that span them, for Python.
#ifndef PACKAGES_CORE_NATIVE_BINDINGS_CLUSTER_H_
#define PACKAGES_CORE_NATIVE_BINDINGS_CLUSTER_H_

#include <nanobind/nanobind.h>

namespace qanat {

void add_cluster(nanobind::module_& module);

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_BINDINGS_CLUSTER_H_
