// What tasks say to each other while steps run, and how it looks on the wire.
//
// A frame is a header, a body and tokens. Tensors travel as their raw bytes, from the sender's
// buffer to the socket and from the socket into the receiver's: nothing is copied in between, and
// nothing limits a frame's size. Numbers are little-endian, as those of all targets are.
#ifndef PACKAGES_CORE_NATIVE_CLUSTER_MESSAGE_H_
#define PACKAGES_CORE_NATIVE_CLUSTER_MESSAGE_H_

#include <sys/uio.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "packages/core/native/rendezvous/waiter.h"

namespace qanat {

enum class MessageType : uint8_t {
  kHello = 1,  // opens a connection: incarnation of the callee, session
  kRun,        // run your part of the step: executable, indices of the fed values; tokens: these
  kReceive,    // give me a value of the step: its key
  kReply,      // to one of the above: a status; tokens: results
  kAbort,      // the step is over: why. No reply
};

struct Message {
  MessageType type = MessageType::kReply;
  uint64_t call = 0;  // what a reply belongs to
  uint64_t step = 0;
  std::string body;
  std::vector<Token> tokens;
};

// Whether a frame can be sent: neither its body nor the number of its tokens is beyond what readers
// take.
Status check_size(const Message& frame);

// The parts of a body, one after the other.
class BodyWriter {
 public:
  explicit BodyWriter(std::string* body) : body_(*body) {}

  void number(uint64_t value) {
    body_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void text(std::string_view value) {
    number(value.size());
    body_.append(value);
  }
  // A message beyond a mebibyte is cut.
  void status(const Status& value);

 private:
  std::string& body_;
};

// Reads what a BodyWriter wrote; ok() is false once something was missing.
class BodyReader {
 public:
  explicit BodyReader(std::string_view body) : left_(body) {}

  uint64_t number();
  std::string_view text();
  Status status();
  bool ok() const { return ok_; }

 private:
  std::string_view take(uint64_t size);

  std::string_view left_;
  bool ok_ = true;
};

// A frame on its way out: the memory that a socket still has to take.
class OutgoingFrame {
 public:
  explicit OutgoingFrame(Message frame);

  bool done() const { return part_ == parts_.size(); }
  // Writes until all is written (done()) or the socket takes no more. False where it is broken.
  bool write(int socket);

 private:
  void add_part(const void* data, size_t size);

  std::vector<Token> tokens_;  // keep their buffers
  std::string head_;
  std::vector<std::string> strings_;
  std::vector<iovec> parts_;
  size_t part_ = 0;
};

// Takes frames out of a socket, piece by piece.
class FrameReader {
 public:
  FrameReader();

  enum class Outcome { kFrame, kWait, kClosed, kBroken };

  // Reads on until there is a frame (then it is in *frame), or the socket has no more for now.
  // Broken is a socket that fails or says what no frame says: problem() tells.
  Outcome read(int socket, Message* frame);
  const std::string& problem() const { return problem_; }

 private:
  enum class Part { kHeader, kHead, kTensor };

  bool parse(Message* frame);
  bool parse_header();
  bool parse_head();
  bool begin_tensor();
  bool end_tensor();
  bool broken(std::string why);
  size_t buffered() const { return end_ - begin_; }

  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;  // of what was read and not yet used
  Part part_ = Part::kHeader;
  Message frame_;
  uint32_t body_size_ = 0, num_tokens_ = 0;
  struct Expected {
    uint64_t bytes = 0;
    Tensor raw;  // the bytes of a string tensor, before its elements are made
  };
  std::vector<Expected> expected_;  // by token
  size_t token_ = 0;                // whose bytes come next
  char* to_ = nullptr;              // where they go
  uint64_t left_ = 0;               // how many
  std::string problem_;
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_CLUSTER_MESSAGE_H_
