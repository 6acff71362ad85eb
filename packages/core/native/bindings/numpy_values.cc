#include "packages/core/native/bindings/numpy_values.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "packages/core/native/bindings/python_status.h"
#include "packages/core/native/kernel/half.h"

namespace nb = nanobind;

namespace qanat {
namespace {

// Smaller arrays are copied rather than lent: it costs less, and the copy may be worked on in
// place.
constexpr size_t kSmallBytes = 4096;

// ml_dtypes' type number; -1 until somebody needs it.
int bfloat16_number = -1;

int numpy_number(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return NPY_FLOAT32;
    case DType::kFloat64:
      return NPY_FLOAT64;
    case DType::kInt32:
      return NPY_INT32;
    case DType::kUInt8:
      return NPY_UINT8;
    case DType::kInt16:
      return NPY_INT16;
    case DType::kInt8:
      return NPY_INT8;
    case DType::kString:
      return NPY_OBJECT;
    case DType::kComplex64:
      return NPY_COMPLEX64;
    case DType::kInt64:
      return NPY_INT64;
    case DType::kBool:
      return NPY_BOOL;
    case DType::kUInt16:
      return NPY_UINT16;
    case DType::kComplex128:
      return NPY_COMPLEX128;
    case DType::kFloat16:
      return NPY_FLOAT16;
    case DType::kUInt32:
      return NPY_UINT32;
    case DType::kUInt64:
      return NPY_UINT64;
    case DType::kBFloat16: {
      if (bfloat16_number < 0) {
        nb::object type = nb::module_::import_("ml_dtypes").attr("bfloat16");
        PyArray_Descr* descr = PyArray_DescrFromTypeObject(type.ptr());
        if (descr == nullptr) throw nb::python_error();
        bfloat16_number = descr->type_num;
        Py_DECREF(descr);
      }
      return bfloat16_number;
    }
    default:
      return NPY_NOTYPE;
  }
}

// By kind and size: NumPy has several numbers for one type. kInvalid where there is none.
DType dtype_of_descr(PyArray_Descr* descr) {
  const npy_intp size = PyDataType_ELSIZE(descr);
  const auto sized = [size](DType one, DType two, DType four, DType eight, DType sixteen) {
    return size == 1    ? one
           : size == 2  ? two
           : size == 4  ? four
           : size == 8  ? eight
           : size == 16 ? sixteen
                        : DType::kInvalid;
  };
  constexpr DType kNone = DType::kInvalid;
  switch (descr->kind) {
    case 'b':
      return DType::kBool;
    case 'i':
      return sized(DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64, kNone);
    case 'u':
      return sized(DType::kUInt8, DType::kUInt16, DType::kUInt32, DType::kUInt64, kNone);
    case 'f':
      return sized(kNone, DType::kFloat16, DType::kFloat32, DType::kFloat64, kNone);
    case 'c':
      return sized(kNone, kNone, kNone, DType::kComplex64, DType::kComplex128);
    case 'O':
      return DType::kString;
    default:
      break;
  }
  if (descr->type_num < NPY_USERDEF) return kNone;
  return descr->type_num == numpy_number(DType::kBFloat16) ? DType::kBFloat16 : kNone;
}

std::string type_text(PyArray_Descr* descr) {
  return nb::cast<std::string>(nb::str(nb::handle(reinterpret_cast<PyObject*>(descr))));
}

Shape shape_of(PyArrayObject* array) {
  Shape shape;
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    if (!shape.add(PyArray_DIM(array, i))) {
      raise(error(StatusCode::kInvalidArgument,
                  format("expected an array of rank %d at most, got rank %d", kMaxRank,
                         PyArray_NDIM(array))));
    }
  }
  return shape;
}

// Fills a tensor that has memory for it.
void copy_array(PyArrayObject* array, const TensorView& view) {
  nb::object keep = nb::steal(reinterpret_cast<PyObject*>(PyArray_GETCONTIGUOUS(array)));
  if (!keep.is_valid()) throw nb::python_error();
  const void* data = PyArray_DATA(reinterpret_cast<PyArrayObject*>(keep.ptr()));
  if (view.dtype != DType::kString) {
    if (view.num_bytes() > 0) std::memcpy(view.data, data, view.num_bytes());
    return;
  }
  PyObject* const* objects = static_cast<PyObject* const*>(data);
  for (int64_t i = 0; i < view.num_elements(); ++i) {
    if (objects[i] == nullptr || !PyBytes_Check(objects[i])) {
      const char* got = objects[i] == nullptr ? "nothing" : Py_TYPE(objects[i])->tp_name;
      raise(error(StatusCode::kInvalidArgument,
                  format("expected an array of bytes, got %s in element %lld", got,
                         static_cast<long long>(i))));
    }
    view.as<Bytes>()[i].assign(
        {PyBytes_AS_STRING(objects[i]), static_cast<size_t>(PyBytes_GET_SIZE(objects[i]))});
  }
}

[[noreturn]] void refuse(size_t index, DType expected, const std::string& got) {
  raise(error(StatusCode::kInvalidArgument,
              format("feed %zu: expected %s, got %s", index, dtype_name(expected), got.c_str())));
}

bool feed_array(Step* step, size_t index, DType dtype, PyArrayObject* array) {
  PyArray_Descr* descr = PyArray_DESCR(array);
  if (!PyArray_ISNBO(descr->byteorder)) {
    refuse(index, dtype, type_text(descr) + " of another byte order");
  }
  if (dtype_of_descr(descr) != dtype) refuse(index, dtype, type_text(descr));
  if (PyArray_NDIM(array) > kMaxRank) {
    raise(error(StatusCode::kInvalidArgument,
                format("feed %zu: expected rank %d at most, got rank %d", index, kMaxRank,
                       PyArray_NDIM(array))));
  }
  if (step->arg(index) == nullptr) return false;
  const Shape shape = shape_of(array);
  const size_t bytes = static_cast<size_t>(PyArray_NBYTES(array));
  const bool aligned = reinterpret_cast<uintptr_t>(PyArray_DATA(array)) % kAlignment == 0;
  if (is_plain(dtype) && bytes > kSmallBytes && aligned && PyArray_IS_C_CONTIGUOUS(array)) {
    step->lend_arg(index, PyArray_DATA(array), shape);
    return true;
  }
  raise_if_failed(step->allocate_arg(index, shape));
  copy_array(array, step->arg(index)->view);
  return false;
}

bool feed_numpy_scalar(Step* step, size_t index, DType dtype, PyObject* value) {
  nb::object keep = nb::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromScalar(value)));
  if (!keep.is_valid()) throw nb::python_error();
  auto* descr = reinterpret_cast<PyArray_Descr*>(keep.ptr());
  if (descr->type_num >= NPY_USERDEF) {  // only NumPy's own are read by PyArray_ScalarAsCtype
    nb::object array = nb::steal(PyArray_FromScalar(value, nullptr));
    if (!array.is_valid()) throw nb::python_error();
    return feed_array(step, index, dtype, reinterpret_cast<PyArrayObject*>(array.ptr()));
  }
  if (dtype_of_descr(descr) != dtype) refuse(index, dtype, type_text(descr));
  if (step->arg(index) == nullptr) return false;
  raise_if_failed(step->allocate_arg(index, Shape()));
  PyArray_ScalarAsCtype(value, step->arg(index)->view.data);
  return false;
}

template <typename T>
bool store_integer(PyObject* value, void* data) {
  int overflow = 0;
  const long long wide = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow == 0 && std::in_range<T>(wide)) {
    *static_cast<T*>(data) = static_cast<T>(wide);
    return true;
  }
  if (std::is_same_v<T, uint64_t> && overflow > 0) {
    const unsigned long long unsigned_wide = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred() == nullptr) {
      *static_cast<T*>(data) = static_cast<T>(unsigned_wide);
      return true;
    }
    PyErr_Clear();
  }
  return false;
}

bool store_real(double value, DType dtype, void* data) {
  switch (dtype) {
    case DType::kFloat32:
      *static_cast<float*>(data) = static_cast<float>(value);
      return true;
    case DType::kFloat64:
      *static_cast<double*>(data) = value;
      return true;
    case DType::kFloat16:
      *static_cast<Float16*>(data) = Float16(static_cast<float>(value));
      return true;
    case DType::kBFloat16:
      *static_cast<BFloat16*>(data) = BFloat16(static_cast<float>(value));
      return true;
    case DType::kComplex64:
      *static_cast<std::complex<float>*>(data) = static_cast<float>(value);
      return true;
    case DType::kComplex128:
      *static_cast<std::complex<double>*>(data) = value;
      return true;
    default:
      return false;
  }
}

bool store_long(PyObject* value, DType dtype, void* data) {
  switch (dtype) {
    case DType::kInt8:
      return store_integer<int8_t>(value, data);
    case DType::kInt16:
      return store_integer<int16_t>(value, data);
    case DType::kInt32:
      return store_integer<int32_t>(value, data);
    case DType::kInt64:
      return store_integer<int64_t>(value, data);
    case DType::kUInt8:
      return store_integer<uint8_t>(value, data);
    case DType::kUInt16:
      return store_integer<uint16_t>(value, data);
    case DType::kUInt32:
      return store_integer<uint32_t>(value, data);
    case DType::kUInt64:
      return store_integer<uint64_t>(value, data);
    default:
      break;
  }
  const double real = PyLong_AsDouble(value);
  if (real == -1.0 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return false;
  }
  return store_real(real, dtype, data);
}

bool store_complex(PyObject* value, DType dtype, void* data) {
  const std::complex<double> wide(PyComplex_RealAsDouble(value), PyComplex_ImagAsDouble(value));
  if (dtype == DType::kComplex128) {
    *static_cast<std::complex<double>*>(data) = wide;
  } else if (dtype == DType::kComplex64) {
    *static_cast<std::complex<float>*>(data) = std::complex<float>(wide);
  } else {
    return false;
  }
  return true;
}

// A Python scalar, which has no type of its own: any type takes it that can hold its value.
bool store_scalar(PyObject* value, DType dtype, void* data) {
  if (PyFloat_CheckExact(value)) return store_real(PyFloat_AS_DOUBLE(value), dtype, data);
  if (PyBool_Check(value)) {
    if (dtype == DType::kBool) *static_cast<bool*>(data) = value == Py_True;
    return dtype == DType::kBool;
  }
  if (PyLong_CheckExact(value)) return store_long(value, dtype, data);
  if (PyComplex_CheckExact(value)) return store_complex(value, dtype, data);
  if (PyBytes_CheckExact(value) && dtype == DType::kString) {
    static_cast<Bytes*>(data)->assign(
        {PyBytes_AS_STRING(value), static_cast<size_t>(PyBytes_GET_SIZE(value))});
    return true;
  }
  return false;
}

// The name of the capsules that own a buffer for an array.
constexpr const char* kBufferCapsule = "qanat.buffer";

void drop_buffer(PyObject* capsule) {
  unref(static_cast<Buffer*>(PyCapsule_GetPointer(capsule, kBufferCapsule)));
}

// An array that owns the tensor's buffer.
nb::object owning_array(Tensor tensor, int number) {
  const TensorView& view = tensor.view;
  npy_intp dims[kMaxRank];
  for (int i = 0; i < view.rank(); ++i) dims[i] = view.dim(i);
  nb::object array =
      nb::steal(PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(number), view.rank(),
                                     dims, nullptr, view.data, NPY_ARRAY_CARRAY, nullptr));
  if (!array.is_valid()) throw nb::python_error();
  PyObject* owner = PyCapsule_New(tensor.buffer, kBufferCapsule, drop_buffer);
  if (owner == nullptr) throw nb::python_error();
  tensor.buffer = nullptr;
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array.ptr()), owner) < 0) {
    throw nb::python_error();
  }
  return array;
}

nb::object bytes_object(const Bytes& bytes) {
  return nb::steal(
      PyBytes_FromStringAndSize(bytes.view().data(), static_cast<Py_ssize_t>(bytes.size())));
}

nb::object string_array(const Tensor& tensor) {
  npy_intp dims[kMaxRank];
  for (int i = 0; i < tensor.view.rank(); ++i) dims[i] = tensor.view.dim(i);
  nb::object array = nb::steal(PyArray_SimpleNew(tensor.view.rank(), dims, NPY_OBJECT));
  if (!array.is_valid()) throw nb::python_error();
  auto** objects =
      static_cast<PyObject**>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array.ptr())));
  for (int64_t i = 0; i < tensor.view.num_elements(); ++i) {
    Py_XDECREF(objects[i]);
    objects[i] = bytes_object(tensor.view.as<Bytes>()[i]).release().ptr();
  }
  return array;
}

}  // namespace

bool load_numpy() { return PyArray_ImportNumPyAPI() == 0; }

Tensor tensor_from_array(PyObject* object) {
  if (!PyArray_Check(object)) {
    raise(error(StatusCode::kInvalidArgument,
                format("expected a NumPy array, got %s", Py_TYPE(object)->tp_name)));
  }
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  PyArray_Descr* descr = PyArray_DESCR(array);
  const DType dtype = dtype_of_descr(descr);
  if (dtype == DType::kInvalid || !PyArray_ISNBO(descr->byteorder)) {
    raise(
        error(StatusCode::kInvalidArgument,
              "expected an array of a known type and native byte order, got " + type_text(descr)));
  }
  Tensor tensor;
  const Shape shape = shape_of(array);
  if (!tensor.allocate(dtype, shape, &Allocator::process())) raise(exhausted(dtype, shape));
  copy_array(array, tensor.view);
  return tensor;
}

bool feed(Step* step, size_t index, DType dtype, PyObject* value) {
  if (PyArray_Check(value)) {
    return feed_array(step, index, dtype, reinterpret_cast<PyArrayObject*>(value));
  }
  if (PyArray_IsScalar(value, Generic)) return feed_numpy_scalar(step, index, dtype, value);
  if (step->arg(index) == nullptr) return false;
  raise_if_failed(step->allocate_arg(index, Shape()));
  if (!store_scalar(value, dtype, step->arg(index)->view.data)) {
    refuse(index, dtype,
           std::string(Py_TYPE(value)->tp_name) + " " + nb::cast<std::string>(nb::repr(value)));
  }
  return false;
}

Tensor tensor_of(size_t index, DType dtype, PyObject* value) {
  Tensor tensor;
  if (PyArray_Check(value) || PyArray_IsScalar(value, Generic)) {
    nb::object array = nb::steal(PyArray_FromAny(value, nullptr, 0, 0, NPY_ARRAY_DEFAULT, nullptr));
    if (!array.is_valid()) throw nb::python_error();
    tensor = tensor_from_array(array.ptr());
    if (tensor.view.dtype != dtype) refuse(index, dtype, dtype_name(tensor.view.dtype));
    return tensor;
  }
  if (!tensor.allocate(dtype, Shape(), &Allocator::process())) raise(exhausted(dtype, Shape()));
  if (!store_scalar(value, dtype, tensor.view.data)) {
    refuse(index, dtype,
           std::string(Py_TYPE(value)->tp_name) + " " + nb::cast<std::string>(nb::repr(value)));
  }
  return tensor;
}

nb::object to_python(Tensor tensor) {
  const TensorView& view = tensor.view;
  if (view.dtype == DType::kString) {
    return view.rank() == 0 ? bytes_object(*view.as<Bytes>()) : string_array(tensor);
  }
  const int number = numpy_number(view.dtype);
  if (number == NPY_NOTYPE) {
    raise(error(StatusCode::kInvalidArgument,
                format("expected a value that NumPy can hold, got %s", dtype_name(view.dtype))));
  }
  if (view.rank() > 0) return owning_array(std::move(tensor), number);
  PyArray_Descr* descr = PyArray_DescrFromType(number);
  nb::object scalar = nb::steal(PyArray_Scalar(view.data, descr, nullptr));
  Py_DECREF(descr);
  if (!scalar.is_valid()) throw nb::python_error();
  return scalar;
}

nb::object to_read_only_python(Tensor tensor) {
  nb::object value = to_python(std::move(tensor));
  if (PyArray_Check(value.ptr())) {
    PyArray_CLEARFLAGS(reinterpret_cast<PyArrayObject*>(value.ptr()), NPY_ARRAY_WRITEABLE);
  }
  return value;
}

nb::object empty_array(int dtype, nb::sequence shape) {
  const auto type = static_cast<DType>(dtype);
  const int number = is_plain(type) ? numpy_number(type) : NPY_NOTYPE;
  Shape dims;
  bool fits = number != NPY_NOTYPE;
  for (nb::handle dim : shape) fits = fits && dims.add(nb::cast<int64_t>(dim));
  if (!fits) {
    raise(error(StatusCode::kInvalidArgument,
                format("expected a plain dtype and a shape of rank %d at most, got %s", kMaxRank,
                       dtype_name(type))));
  }
  Tensor tensor;
  if (!tensor.allocate(type, dims, &Allocator::process())) raise(exhausted(type, dims));
  return owning_array(std::move(tensor), number);
}

Tensor tensor_from_gift(PyObject* object, DType dtype) {
  if (!PyArray_Check(object)) return tensor_from_array(object);  // says what it expected
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  if (dtype_of_descr(PyArray_DESCR(array)) != dtype) {
    raise(error(StatusCode::kInternal, format("expected an array of %s, got %s", dtype_name(dtype),
                                              type_text(PyArray_DESCR(array)).c_str())));
  }
  PyObject* base = PyArray_BASE(array);
  if (base == nullptr || !PyCapsule_IsValid(base, kBufferCapsule)) return tensor_from_array(object);
  auto* buffer = static_cast<Buffer*>(PyCapsule_GetPointer(base, kBufferCapsule));
  const bool whole = PyArray_DATA(array) == buffer->data && PyArray_IS_C_CONTIGUOUS(array);
  if (!whole) return tensor_from_array(object);
  Tensor tensor;
  tensor.view = {buffer->data, dtype, shape_of(array)};
  buffer->ref();
  tensor.buffer = buffer;
  return tensor;
}

}  // namespace qanat
