#include "packages/core/native/executor/step_trace.h"

#include <thread>

#include "packages/core/native/testing/check.h"

namespace qanat {
namespace {

TEST(events_have_their_times_and_threads) {
  StepTrace trace;
  const int64_t begin = trace.now();
  trace.add(7, begin);
  std::thread([&] { trace.add(8, trace.now()); }).join();
  trace.add(9, trace.now());
  const auto events = trace.events();
  CHECK_EQ(events.size(), 3u);
  CHECK_EQ(events[0].node, 7);
  CHECK_EQ(events[0].begin, begin);
  CHECK_EQ(events[0].thread, 0);
  CHECK_EQ(events[1].thread, 1);
  CHECK_EQ(events[2].thread, 0);
  for (const StepTrace::Event& event : events) CHECK(event.begin <= event.end);
  CHECK(events[0].end <= events[2].begin);
}

TEST(times_count_from_1970) {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  const double seconds = std::chrono::duration<double>(since_1970).count();
  const double traced = static_cast<double>(StepTrace().now()) / 1e9;
  CHECK(traced > seconds - 60 && traced < seconds + 60);
}

}  // namespace
}  // namespace qanat
