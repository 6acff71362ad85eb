#include "packages/core/native/rendezvous/rendezvous.h"

#include <thread>

#include "packages/core/native/testing/check.h"

namespace qanat {
namespace {

constexpr TransferKey kKey{"/job:a", "/job:b", "x:0", ""};

class Listener final : public Waiter {
 public:
  void wake(const Status& given, std::span<Token> tokens) override {
    ++times;
    status = given;
    if (!tokens.empty()) token = std::move(tokens[0]);
  }

  int times = 0;
  Status status;
  Token token;
};

Token number(float value) {
  Token token;
  CHECK(token.value.allocate(DType::kFloat32, Shape(), &Allocator::process()));
  *token.value.view.as<float>() = value;
  return token;
}

// Counted resources are only made by new.
struct Meeting {
  LocalRendezvous* place = new LocalRendezvous;
  ~Meeting() { place->unref(); }
  LocalRendezvous* operator->() { return place; }
};

TEST(a_value_waits_for_its_receiver) {
  Meeting meeting;
  CHECK(meeting->send(kKey, number(3)).ok());
  CHECK(!meeting->empty());
  Listener listener;
  meeting->receive(kKey, &listener);
  CHECK_EQ(*listener.token.value.view.as<float>(), 3);
  CHECK(meeting->empty());
}

TEST(a_receiver_waits_for_its_value) {
  Meeting meeting;
  Listener listener;
  meeting->receive(kKey, &listener);
  CHECK_EQ(listener.times, 0);
  CHECK(meeting->send(kKey, number(4)).ok());
  CHECK_EQ(listener.times, 1);
  CHECK_EQ(*listener.token.value.view.as<float>(), 4);
}

TEST(deadness_travels) {
  Meeting meeting;
  Listener listener;
  meeting->receive(kKey, &listener);
  CHECK(meeting->send(kKey, {{}, true}).ok());
  CHECK(listener.token.is_dead);
}

TEST(iterations_do_not_meet) {
  Meeting meeting;
  TransferKey second = kKey;
  second.tag = "loop:1";
  Listener first_listener, second_listener;
  meeting->receive(kKey, &first_listener);
  meeting->receive(second, &second_listener);
  CHECK(meeting->send(second, number(1)).ok());
  CHECK_EQ(first_listener.times, 0);
  CHECK_EQ(second_listener.times, 1);
  meeting->abort(error(StatusCode::kAborted, "over"));
}

TEST(a_second_value_is_refused) {
  Meeting meeting;
  CHECK(meeting->send(kKey, number(1)).ok());
  CHECK_EQ(meeting->send(kKey, number(2)).code, StatusCode::kInternal);
}

TEST(abort_wakes_all_with_the_first_cause) {
  Meeting meeting;
  Listener early, late;
  meeting->receive(kKey, &early);
  meeting->abort(error(StatusCode::kUnavailable, "first"));
  meeting->abort(error(StatusCode::kInternal, "second"));
  meeting->receive(kKey, &late);
  CHECK_EQ(early.status.message, "first");
  CHECK_EQ(late.status.message, "first");
  CHECK_EQ(meeting->send(kKey, number(1)).message, "first");
  CHECK(meeting->empty());
}

TEST(a_cancelled_waiter_is_woken_once) {
  Meeting meeting;
  Listener listener;
  meeting->receive(kKey, &listener);
  meeting->cancel(&listener, error(StatusCode::kCancelled, "enough"));
  meeting->cancel(&listener, error(StatusCode::kCancelled, "enough"));
  CHECK_EQ(listener.times, 1);
  CHECK_EQ(listener.status.message, "enough");
  CHECK(meeting->send(kKey, number(1)).ok());
  CHECK_EQ(listener.times, 1);
}

TEST(senders_and_receivers_meet_from_any_thread) {
  constexpr int kValues = 2000;
  Meeting meeting;
  std::vector<Listener> listeners(kValues);
  std::thread sender([&] {
    for (int i = 0; i < kValues; ++i) {
      CHECK(meeting->send_as(std::to_string(i), number(static_cast<float>(i))).ok());
    }
  });
  for (int i = kValues; i-- > 0;) meeting->receive_as(std::to_string(i), &listeners[i]);
  sender.join();
  for (int i = 0; i < kValues; ++i) {
    CHECK_EQ(*listeners[i].token.value.view.as<float>(), static_cast<float>(i));
  }
}

}  // namespace
}  // namespace qanat
