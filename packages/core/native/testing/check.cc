#include "packages/core/native/testing/check.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace qanat::testing {
namespace {

Case* first = nullptr;
Case** last = &first;

bool chosen(const char* name, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strstr(name, argv[i])) return true;
  }
  return argc == 1;
}

}  // namespace

Case::Case(const char* name, void (*body)()) : name(name), body(body) {
  *last = this;
  last = &next;
}

void fail(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
  std::exit(1);
}

}  // namespace qanat::testing

int main(int argc, char** argv) {
  using namespace qanat::testing;
  int count = 0;
  for (const Case* test = first; test; test = test->next) {
    if (!chosen(test->name, argc, argv)) continue;
    std::fprintf(stderr, "%s\n", test->name);
    test->body();
    ++count;
  }
  std::fprintf(stderr, "%d passed\n", count);
  return count == 0;  // a test that tests nothing has failed
}
