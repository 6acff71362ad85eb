// One try of a fuzzer: whatever the bytes, an error code at worst.
#ifndef PACKAGES_MOBILE_RUNTIME_NATIVE_TEST_FUZZ_H_
#define PACKAGES_MOBILE_RUNTIME_NATIVE_TEST_FUZZ_H_

#include <cstdint>
#include <string>

namespace qanat::mobile::testing {

// Opens the bytes as a model and, where that succeeds, runs it twice; the header's size and
// checksum are made right before, lest nothing gets past them. Ends the program where a failure has
// no message, or a success one. Returns the code.
int32_t try_model(std::string bytes);

}  // namespace qanat::mobile::testing

#endif  // PACKAGES_MOBILE_RUNTIME_NATIVE_TEST_FUZZ_H_
