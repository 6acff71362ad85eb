// A C++ test is a program of named cases; the first check that fails ends it:
//
//   TEST(a_sum_is_exact) { CHECK_EQ(sum({1, 2}), 3); }
//
// main() comes with //packages/core/native/testing:check, which every qanat_cc_test depends on.
// `program WORD...` runs only the cases whose names contain one of the words.
#ifndef PACKAGES_CORE_NATIVE_TESTING_CHECK_H_
#define PACKAGES_CORE_NATIVE_TESTING_CHECK_H_

#include <cmath>
#include <sstream>
#include <string>

namespace qanat::testing {

// A case that main() runs, in the order of construction.
struct Case {
  Case(const char* name, void (*body)());

  const char* name;
  void (*body)();
  Case* next = nullptr;
};

// Prints `file:line: what` and ends the program with status 1.
[[noreturn]] void fail(const char* file, int line, const std::string& what);

template <typename T>
std::string show(const T& value) {
  std::ostringstream out;
  out.precision(17);
  if constexpr (requires { out << value; }) {
    out << value;
  } else if constexpr (requires { static_cast<long long>(value); }) {
    out << static_cast<long long>(value);  // an enum class
  } else {
    out << "a value of " << sizeof(value) << " bytes";
  }
  return out.str();
}

template <typename A, typename B>
void check_equal(const A& a, const B& b, const char* what, const char* file, int line) {
  if (!(a == b)) fail(file, line, std::string(what) + ": " + show(a) + " and " + show(b));
}

// A NaN is near a NaN, an infinity near itself.
template <typename A, typename B>
void check_near(const A& a, const B& b, double tolerance, const char* what, const char* file,
                int line) {
  const double x = static_cast<double>(a), y = static_cast<double>(b);
  const bool near = x == y || std::fabs(x - y) <= tolerance || (std::isnan(x) && std::isnan(y));
  if (!near) fail(file, line, std::string(what) + ": " + show(x) + " and " + show(y));
}

}  // namespace qanat::testing

#define TEST(name)                                                      \
  static void name##_body();                                            \
  static ::qanat::testing::Case name##_registered(#name, &name##_body); \
  static void name##_body()

#define CHECK(condition) \
  ((condition) ? (void)0 : ::qanat::testing::fail(__FILE__, __LINE__, "CHECK(" #condition ")"))

#define CHECK_EQ(a, b) \
  ::qanat::testing::check_equal(a, b, "CHECK_EQ(" #a ", " #b ")", __FILE__, __LINE__)

#define CHECK_NEAR(a, b, tolerance)                                                           \
  ::qanat::testing::check_near(a, b, tolerance, "CHECK_NEAR(" #a ", " #b ", " #tolerance ")", \
                               __FILE__, __LINE__)

#endif  // PACKAGES_CORE_NATIVE_TESTING_CHECK_H_
