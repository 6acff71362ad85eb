/* Runs a model file on one thread: the C interface of Qanat's interpreter.
 *
 *   QanatModel* model = NULL;
 *   char message[QANAT_MESSAGE_BYTES];
 *   const QanatRegisterKernels kernels[] = {qanat_register_kernels};
 *   const QanatModelOptions options = {.kernels = kernels, .num_kernels = 1};
 *   if (qanat_model_open_file("lenet.qanat", &options, &model, message) != 0) puts(message);
 *   qanat_model_set_input(model, 0, pixels, sizeof(pixels), message);
 *   qanat_model_run(model, message);
 *   qanat_model_get_output(model, 0, logits, sizeof(logits), message);
 *   qanat_model_close(model);
 *
 * A function that can fail returns 0, or the number of a gRPC status code; it then writes why to
 * `message`, which holds QANAT_MESSAGE_BYTES or is null. Whatever a file holds, the worst is such a
 * code: 3 (invalid argument: also a kernel that refuses its node), 5 (not found), 8 (no memory), 12
 * (a newer version, or no kernel), 13 (a kernel wants an output that its node lacks), 15 (data
 * loss). A file may ask for as much memory as there is: give a limit where it is not trusted.
 *
 * Memory is allocated by opening alone. Different models may be used on different threads; one
 * model is used by one thread at a time.
 */
#ifndef PACKAGES_MOBILE_RUNTIME_NATIVE_QANAT_MODEL_H_
#define PACKAGES_MOBILE_RUNTIME_NATIVE_QANAT_MODEL_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
namespace qanat {
class KernelRegistry;
}
typedef qanat::KernelRegistry QanatKernelRegistry;
extern "C" {
#else
typedef struct QanatKernelRegistry QanatKernelRegistry;
#endif

#define QANAT_MESSAGE_BYTES 640
#define QANAT_MAX_RANK 8
#define QANAT_API __attribute__((visibility("default")))

typedef struct QanatModel QanatModel;

/* Adds the kernels of a library; qanat_register_kernels of the one that is linked in is such. */
typedef void (*QanatRegisterKernels)(QanatKernelRegistry* registry);

/* While the model is loaded: output `output` of node `node` may lie in the memory of input `input`.
 */
typedef void (*QanatSharing)(void* arg, uint32_t node, uint32_t output, uint32_t input);

typedef struct QanatModelOptions {
  const QanatRegisterKernels* kernels;
  int32_t num_kernels;
  size_t memory_limit;  /* bytes of the heap, 0 for no limit */
  QanatSharing sharing; /* or null */
  void* sharing_arg;
} QanatModelOptions;

/* A public input or output. */
typedef struct QanatTensor {
  const char* name;
  void* data; /* of an input: may be written instead of calling qanat_model_set_input */
  size_t bytes;
  int64_t dims[QANAT_MAX_RANK];
  int32_t rank;
  int32_t dtype; /* the number of TensorFlow's DataType: 1 float32, 4 uint8, 6 int8, ... */
} QanatTensor;

typedef struct QanatModelMemory {
  size_t arena;
  size_t scratch; /* what kernels need beside the arena on this processor */
  size_t heap;    /* all that was allocated, both of these included */
} QanatModelMemory;

/* The ABI that kernel libraries need: qanat_kernel_abi() has to return the same. */
QANAT_API int32_t qanat_model_kernel_abi(void);

/* A model in memory, which is aligned to 64 bytes and stays as it is until the model is closed. */
QANAT_API int32_t qanat_model_open(const void* memory, size_t bytes,
                                   const QanatModelOptions* options, QanatModel** model,
                                   char* message);
/* A model in a file, which is mapped into memory: nobody may cut it until the model is closed. */
QANAT_API int32_t qanat_model_open_file(const char* path, const QanatModelOptions* options,
                                        QanatModel** model, char* message);
QANAT_API void qanat_model_close(QanatModel* model);

QANAT_API int32_t qanat_model_num_inputs(const QanatModel* model);
QANAT_API int32_t qanat_model_num_outputs(const QanatModel* model);
/* Input or output i; `i` out of range is error 3. */
QANAT_API int32_t qanat_model_input(const QanatModel* model, int32_t i, QanatTensor* tensor);
QANAT_API int32_t qanat_model_output(const QanatModel* model, int32_t i, QanatTensor* tensor);
QANAT_API void qanat_model_memory(const QanatModel* model, QanatModelMemory* memory);

/* Copies exactly the input's bytes. Inputs are to be set before each run. */
QANAT_API int32_t qanat_model_set_input(QanatModel* model, int32_t i, const void* data,
                                        size_t bytes, char* message);
QANAT_API int32_t qanat_model_run(QanatModel* model, char* message);
/* Copies exactly the output's bytes, those of the last run. */
QANAT_API int32_t qanat_model_get_output(const QanatModel* model, int32_t i, void* data,
                                         size_t bytes, char* message);

#ifdef __cplusplus
}
#endif

#endif /* PACKAGES_MOBILE_RUNTIME_NATIVE_QANAT_MODEL_H_ */
