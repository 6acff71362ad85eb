// Connections that end: nobody waits for them, and they keep nothing.
#include "packages/core/native/cluster/transport.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <thread>

#include "packages/core/native/cluster/step_table.h"
#include "packages/core/native/testing/check.h"

namespace qanat {
namespace {

constexpr std::chrono::seconds kDeadline{20};

// Counts, and lets a test wait for the count.
class Events {
 public:
  void add() {
    std::lock_guard<std::mutex> lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  bool reach(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, kDeadline, [&] { return count_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

struct Counter final : ConnectionHandler {
  Events frames, ends;
  void handle(const std::shared_ptr<Connection>&, Message) override { frames.add(); }
  void closed(const std::shared_ptr<Connection>&) override { ends.add(); }
};

// A connection whose other end is a bare socket.
struct Link {
  int other = -1;
  std::shared_ptr<Counter> handler = std::make_shared<Counter>();
  std::shared_ptr<Connection> connection;

  Link() {
    int ends[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    other = ends[1];
    connection = Transport::process().add(ends[0], "/job:ps/task:0", handler);
  }
  ~Link() {
    connection->close(error(StatusCode::kAborted, "the test is over"));
    ::close(other);
  }
};

Message abort_frame(const Tensor& value) {
  Message frame;
  frame.type = MessageType::kAbort;
  frame.tokens.push_back({value, false});
  return frame;
}

// The transport accepts here; a client is a bare socket.
struct Listener {
  std::shared_ptr<Counter> handler = std::make_shared<Counter>();
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  const int client = socket(AF_INET, SOCK_STREAM, 0);

  Listener() {
    CHECK_EQ(bind(listening, generic(), size_), 0);
    CHECK_EQ(::listen(listening, 8), 0);
    CHECK_EQ(getsockname(listening, generic(), &size_), 0);
    Transport::process().listen(listening, handler);
  }
  ~Listener() {
    Transport::process().stop_listening(listening);
    ::close(client);
  }

  void connect_client() { CHECK_EQ(connect(client, generic(), size_), 0); }

 private:
  sockaddr* generic() { return reinterpret_cast<sockaddr*>(&address_); }

  sockaddr_in address_{AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {}};
  socklen_t size_ = sizeof(address_);
};

// Comes first: a connection that an earlier test had would leave a descriptor when it is closed.
TEST(a_process_without_descriptors_left_refuses_at_once) {
  Listener listener;
  const timeval deadline{std::chrono::seconds(kDeadline).count(), 0};
  setsockopt(listener.client, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof(deadline));
  rlimit before{};
  CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = dup(0);  // the lowest number that is free
  ::close(next);
  const rlimit none_more{static_cast<rlim_t>(next), before.rlim_max};
  CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none_more), 0);
  listener.connect_client();
  char byte;
  const ssize_t received = recv(listener.client, &byte, 1, 0);
  CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  CHECK_EQ(received, ssize_t{0});
}

TEST(a_connection_that_ended_keeps_no_frames) {
  Link link;
  Tensor big;  // more than sockets hold
  CHECK(big.allocate(DType::kInt64, Shape({4 << 20}), &Allocator::process()));
  link.connection->send(abort_frame(big));
  link.connection->send(abort_frame(big));
  CHECK_EQ(big.buffer->refs.load(), 3);
  shutdown(link.other, SHUT_WR);  // it hears, but takes nothing
  CHECK(link.handler->ends.reach(1));
  CHECK_EQ(big.buffer->refs.load(), 1);
  link.connection->send(abort_frame(big));
  link.connection->send(abort_frame(big));
  CHECK_EQ(big.buffer->refs.load(), 1);
}

TEST(a_call_that_no_frame_can_carry_is_answered_at_once) {
  Link link;
  Message frame;
  frame.type = MessageType::kRun;
  frame.tokens.resize((1 << 16) + 1);
  for (Token& token : frame.tokens) token.is_dead = true;
  Status answer;
  link.connection->call(std::move(frame), nullptr,
                        [&](const Status& status, Message*) { answer = status; });
  CHECK(answer.code == StatusCode::kResourceExhausted);
  CHECK(answer.message.find("at most 65536 values") != std::string::npos);
  CHECK(answer.message.find("got 65537") != std::string::npos);
  CHECK(link.connection->is_open());
}

TEST(a_long_message_of_a_status_is_cut) {
  std::string body;
  BodyWriter(&body).status(error(StatusCode::kInternal, std::string(32 << 20, 'x')));
  Message frame;
  frame.body = body;
  CHECK(check_size(frame).ok());
  BodyReader reader(body);
  CHECK_EQ(reader.status().message.size(), size_t{1} << 20);
  CHECK(reader.ok());
}

TEST(a_step_that_a_closed_table_hears_of_is_over) {
  StepTable table;
  Status over;
  CHECK(table.find(1, &over) != nullptr);
  table.close(error(StatusCode::kUnavailable, "closed"));
  CHECK(table.find(2, &over) == nullptr);
  CHECK(over.code == StatusCode::kUnavailable);
  CHECK_EQ(table.size(), size_t{0});
}

// A number of a socket goes from one listener to the next: each connection is its own listener's.
TEST(a_listener_that_stops_accepts_nothing_of_the_next) {
  for (int round = 0; round < 200; ++round) {
    Listener listener;
    listener.connect_client();
    if (round % 2 == 0) {  // else it stops while the connection is being accepted
      OutgoingFrame frame{Message()};
      CHECK(frame.write(listener.client) && frame.done());
      CHECK_EQ(shutdown(listener.client, SHUT_WR), 0);
      CHECK(listener.handler->ends.reach(1));
    }
  }
}

}  // namespace
}  // namespace qanat
