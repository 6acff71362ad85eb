// Frames through a pair of sockets: what goes in comes out, and nothing that is read is trusted.
#include "packages/core/native/cluster/message.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "packages/core/native/testing/check.h"

namespace qanat {
namespace {

struct Pair {
  int ends[2];
  Pair() {
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    for (int end : ends) fcntl(end, F_SETFL, O_NONBLOCK);
  }
  ~Pair() {
    close(ends[0]);
    close(ends[1]);
  }
};

Token numbers(int64_t size) {
  Token token;
  CHECK(token.value.allocate(DType::kInt64, Shape({size}), &Allocator::process()));
  for (int64_t i = 0; i < size; ++i) token.value.view.as<int64_t>()[i] = i;
  return token;
}

Token texts() {
  Token token;
  CHECK(token.value.allocate(DType::kString, Shape({2, 1}), &Allocator::process()));
  token.value.view.as<Bytes>()[1].assign("text");
  return token;
}

// Sends frames from one end while the other reads.
std::vector<Message> through(std::vector<Message> frames) {
  Pair pair;
  const size_t count = frames.size();
  std::thread writer([&] {
    for (Message& frame : frames) {
      OutgoingFrame outgoing(std::move(frame));
      while (!outgoing.done()) CHECK(outgoing.write(pair.ends[0]));
    }
  });
  std::vector<Message> got;
  FrameReader reader;
  while (got.size() < count) {
    Message frame;
    const auto outcome = reader.read(pair.ends[1], &frame);
    CHECK(outcome == FrameReader::Outcome::kFrame || outcome == FrameReader::Outcome::kWait);
    if (outcome == FrameReader::Outcome::kFrame) got.push_back(std::move(frame));
  }
  writer.join();
  return got;
}

// What a reader makes of bytes that nobody would send.
FrameReader::Outcome read_bytes(const std::string& bytes) {
  Pair pair;
  CHECK_EQ(write(pair.ends[0], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  FrameReader reader;
  Message frame;
  return reader.read(pair.ends[1], &frame);
}

std::string header(uint8_t type, uint32_t body, uint32_t tokens) {
  std::string text = "QAN1";
  text.resize(32);
  text[4] = static_cast<char>(type);
  std::memcpy(text.data() + 24, &body, sizeof(body));
  std::memcpy(text.data() + 28, &tokens, sizeof(tokens));
  return text;
}

std::string tensor(DType dtype, uint8_t rank, uint64_t bytes, int64_t dim) {
  std::string text(80, '\0');
  text[0] = static_cast<char>(dtype);
  text[1] = static_cast<char>(rank);
  std::memcpy(text.data() + 8, &bytes, sizeof(bytes));
  for (int i = 0; i < 8; ++i) std::memcpy(text.data() + 16 + 8 * i, &dim, sizeof(dim));
  return text;
}

TEST(frames_arrive_as_they_were_sent) {
  std::vector<Message> frames(3);
  frames[0].type = MessageType::kRun;
  frames[0].call = 7;
  frames[0].step = uint64_t{1} << 63;
  frames[0].body = "body";
  for (int64_t size : {0, 1, 3'000'000}) frames[1].tokens.push_back(numbers(size));
  frames[1].tokens.push_back(texts());
  frames[2].tokens.push_back({{}, true});
  frames[2].tokens.push_back(numbers(5));
  const std::vector<Message> got = through(std::move(frames));
  CHECK(got[0].type == MessageType::kRun);
  CHECK_EQ(got[0].call, 7u);
  CHECK_EQ(got[0].step, uint64_t{1} << 63);
  CHECK_EQ(got[0].body, "body");
  CHECK(got[1].tokens[0].value.view.shape == Shape({0}));
  CHECK_EQ(got[1].tokens[2].value.view.as<int64_t>()[2'999'999], 2'999'999);
  CHECK_EQ(got[1].tokens[3].value.view.as<Bytes>()[1].view(), "text");
  CHECK(got[1].tokens[3].value.view.shape == Shape({2, 1}));
  CHECK(got[2].tokens[0].is_dead);
  CHECK_EQ(got[2].tokens[1].value.view.as<int64_t>()[4], 4);
}

TEST(bodies_are_read_as_they_were_written) {
  std::string body;
  BodyWriter writer(&body);
  writer.number(5);
  writer.text("five");
  writer.status(error(StatusCode::kAborted, "why", 3));
  BodyReader reader(body);
  CHECK_EQ(reader.number(), 5u);
  CHECK_EQ(reader.text(), "five");
  const Status status = reader.status();
  CHECK_EQ(status.code, StatusCode::kAborted);
  CHECK_EQ(status.node, 3);
  CHECK(reader.ok());
  reader.number();
  CHECK(!reader.ok());
}

TEST(other_bytes_are_refused) {
  constexpr auto kBroken = FrameReader::Outcome::kBroken;
  CHECK(read_bytes("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n") == kBroken);
  CHECK(read_bytes(header(0, 0, 0)) == kBroken);
  CHECK(read_bytes(header(99, 0, 0)) == kBroken);
  CHECK(read_bytes(header(2, ~0u, 0)) == kBroken);
  CHECK(read_bytes(header(2, 0, ~0u)) == kBroken);
  const std::string one = header(2, 0, 1);
  CHECK(read_bytes(one + tensor(static_cast<DType>(77), 1, 8, 1)) == kBroken);
  CHECK(read_bytes(one + tensor(DType::kResource, 1, 8, 1)) == kBroken);
  CHECK(read_bytes(one + tensor(DType::kFloat32, 9, 4, 1)) == kBroken);
  CHECK(read_bytes(one + tensor(DType::kFloat32, 1, 8, 1)) == kBroken);   // too many bytes
  CHECK(read_bytes(one + tensor(DType::kFloat32, 1, 4, -1)) == kBroken);  // a negative size
  CHECK(read_bytes(one + tensor(DType::kFloat32, 8, 4, int64_t{1} << 40)) == kBroken);
  CHECK(read_bytes(one + tensor(DType::kFloat32, 1, uint64_t{1} << 60, int64_t{1} << 58)) ==
        kBroken);                                                       // more than there is
  CHECK(read_bytes(one + tensor(DType::kString, 1, 8, 2)) == kBroken);  // too few for two
}

TEST(a_frame_that_is_cut_off_is_waited_for) {
  CHECK(read_bytes(header(2, 4, 0) + "bod") == FrameReader::Outcome::kWait);
  CHECK(read_bytes(header(2, 0, 1) + tensor(DType::kFloat32, 1, 8, 2) + "1234") ==
        FrameReader::Outcome::kWait);
}

}  // namespace
}  // namespace qanat
