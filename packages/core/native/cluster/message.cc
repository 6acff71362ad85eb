#include "packages/core/native/cluster/message.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace qanat {
namespace {

constexpr uint32_t kMagic = 0x314e4151;  // "QAN1"
constexpr uint32_t kMaxBody = 16 << 20;
constexpr uint32_t kMaxTokens = 1 << 16;
constexpr size_t kMaxStatusMessage = 1 << 20;
constexpr size_t kBufferBytes = 64 << 10;
constexpr size_t kPartsAtOnce = 64;

struct WireHeader {
  uint32_t magic = kMagic;
  MessageType type = MessageType::kReply;
  uint8_t unused[3] = {};
  uint64_t call = 0, step = 0;
  uint32_t body_size = 0, num_tokens = 0;
};
static_assert(sizeof(WireHeader) == 32);

struct WireToken {
  DType dtype = DType::kInvalid;
  uint8_t rank = 0;
  uint8_t is_dead = 0;
  uint8_t unused[5] = {};
  uint64_t bytes = 0;
  int64_t dims[kMaxRank] = {};
};
static_assert(sizeof(WireToken) == 80);

template <typename T>
void append(std::string* text, const T& value) {
  text->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Each string as its size and its bytes.
std::string encode_strings(const TensorView& view) {
  std::string text;
  for (int64_t i = 0; i < view.num_elements(); ++i) {
    BodyWriter(&text).text(view.as<Bytes>()[i].view());
  }
  return text;
}

bool decode_strings(std::string_view text, const TensorView& view) {
  BodyReader reader(text);
  for (int64_t i = 0; i < view.num_elements(); ++i) view.as<Bytes>()[i].assign(reader.text());
  return reader.ok();
}

}  // namespace

void BodyWriter::status(const Status& value) {
  number(static_cast<uint64_t>(value.code));
  number(static_cast<uint64_t>(static_cast<int64_t>(value.node)));
  text(std::string_view(value.message).substr(0, kMaxStatusMessage));
}

Status check_size(const Message& frame) {
  if (frame.tokens.size() > kMaxTokens) {
    return error(StatusCode::kResourceExhausted,
                 format("expected at most %u values to or from a task at once, got %zu", kMaxTokens,
                        frame.tokens.size()));
  }
  if (frame.body.size() > kMaxBody) {
    return error(StatusCode::kResourceExhausted,
                 format("expected a message of at most %u bytes without its tensors, got %zu",
                        kMaxBody, frame.body.size()));
  }
  return {};
}

std::string_view BodyReader::take(uint64_t size) {
  if (!ok_ || size > left_.size()) {
    ok_ = false;
    return {};
  }
  const std::string_view taken = left_.substr(0, size);
  left_.remove_prefix(size);
  return taken;
}

uint64_t BodyReader::number() {
  uint64_t value = 0;
  const std::string_view bytes = take(sizeof(value));
  if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

std::string_view BodyReader::text() { return take(number()); }

Status BodyReader::status() {
  Status value;
  value.code = static_cast<StatusCode>(number());
  value.node = static_cast<int>(static_cast<int64_t>(number()));
  value.message = std::string(text());
  return value;
}

// --- out ---

OutgoingFrame::OutgoingFrame(Message frame) : tokens_(std::move(frame.tokens)) {
  WireHeader header;
  header.type = frame.type;
  header.call = frame.call;
  header.step = frame.step;
  header.body_size = static_cast<uint32_t>(frame.body.size());
  header.num_tokens = static_cast<uint32_t>(tokens_.size());
  append(&head_, header);
  head_ += frame.body;
  strings_.resize(tokens_.size());
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const TensorView& view = tokens_[i].value.view;
    WireToken wire;
    wire.is_dead = tokens_[i].is_dead ? 1 : 0;
    if (!tokens_[i].is_dead) {
      wire.dtype = view.dtype;
      wire.rank = static_cast<uint8_t>(view.rank());
      std::copy_n(view.shape.dims(), view.rank(), wire.dims);
      if (!is_plain(view.dtype)) strings_[i] = encode_strings(view);
      wire.bytes = is_plain(view.dtype) ? view.num_bytes() : strings_[i].size();
    }
    append(&head_, wire);
  }
  add_part(head_.data(), head_.size());
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const TensorView& view = tokens_[i].value.view;
    if (tokens_[i].is_dead) continue;
    if (is_plain(view.dtype)) {
      add_part(view.data, view.num_bytes());
    } else {
      add_part(strings_[i].data(), strings_[i].size());
    }
  }
}

void OutgoingFrame::add_part(const void* data, size_t size) {
  if (size > 0) parts_.push_back({const_cast<void*>(data), size});
}

bool OutgoingFrame::write(int socket) {
  while (!done()) {
    msghdr message{};
    message.msg_iov = parts_.data() + part_;
    message.msg_iovlen = std::min(parts_.size() - part_, kPartsAtOnce);
    const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
    auto written = static_cast<size_t>(sent);
    while (written > 0) {
      iovec& part = parts_[part_];
      const size_t of_part = std::min(written, part.iov_len);
      part.iov_base = static_cast<char*>(part.iov_base) + of_part;
      part.iov_len -= of_part;
      written -= of_part;
      if (part.iov_len == 0) ++part_;
    }
  }
  return true;
}

// --- in ---

FrameReader::FrameReader() : buffer_(kBufferBytes) {}

FrameReader::Outcome FrameReader::read(int socket, Message* frame) {
  while (true) {
    if (parse(frame)) return Outcome::kFrame;
    if (!problem_.empty()) return Outcome::kBroken;
    const bool straight = part_ == Part::kTensor && buffered() == 0;
    if (!straight && begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, buffered());
      end_ -= std::exchange(begin_, 0);
    }
    char* to = straight ? to_ : buffer_.data() + end_;
    const size_t space = straight ? left_ : buffer_.size() - end_;
    const ssize_t got = recv(socket, to, space, MSG_DONTWAIT);
    if (got == 0) return Outcome::kClosed;
    if (got < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return Outcome::kWait;
      problem_ = std::strerror(errno);
      return Outcome::kBroken;
    }
    if (straight) {
      to_ += got;
      left_ -= static_cast<uint64_t>(got);
    } else {
      end_ += static_cast<size_t>(got);
    }
  }
}

bool FrameReader::broken(std::string why) {
  problem_ = std::move(why);
  return false;
}

// True where a frame is complete; false where more is to be read, or something is wrong.
bool FrameReader::parse(Message* frame) {
  if (part_ == Part::kHeader && !parse_header()) return false;
  if (part_ == Part::kHead && !parse_head()) return false;
  while (token_ < num_tokens_) {
    const auto of_buffer = static_cast<size_t>(std::min<uint64_t>(left_, buffered()));
    if (of_buffer > 0) std::memcpy(to_, buffer_.data() + begin_, of_buffer);
    begin_ += of_buffer;
    to_ += of_buffer;
    left_ -= of_buffer;
    if (left_ > 0 || !end_tensor()) return false;
    ++token_;
    if (token_ < num_tokens_ && !begin_tensor()) return false;
  }
  part_ = Part::kHeader;
  *frame = std::exchange(frame_, Message());
  return true;
}

bool FrameReader::parse_header() {
  WireHeader header;
  if (buffered() < sizeof(header)) return false;
  std::memcpy(&header, buffer_.data() + begin_, sizeof(header));
  if (header.magic != kMagic || header.type < MessageType::kHello ||
      header.type > MessageType::kAbort || header.body_size > kMaxBody ||
      header.num_tokens > kMaxTokens) {
    return broken("expected a frame, got other bytes: is that another program?");
  }
  begin_ += sizeof(header);
  frame_.type = header.type;
  frame_.call = header.call;
  frame_.step = header.step;
  body_size_ = header.body_size;
  num_tokens_ = header.num_tokens;
  const size_t head = body_size_ + num_tokens_ * sizeof(WireToken);
  if (head > buffer_.size()) buffer_.resize(begin_ + head);
  part_ = Part::kHead;
  return true;
}

bool FrameReader::parse_head() {
  if (buffered() < body_size_ + num_tokens_ * sizeof(WireToken)) return false;
  frame_.body.assign(buffer_.data() + begin_, body_size_);
  begin_ += body_size_;
  expected_.assign(num_tokens_, {});
  frame_.tokens.resize(num_tokens_);
  for (uint32_t i = 0; i < num_tokens_; ++i, begin_ += sizeof(WireToken)) {
    WireToken wire;
    std::memcpy(&wire, buffer_.data() + begin_, sizeof(wire));
    Token& token = frame_.tokens[i];
    token.is_dead = wire.is_dead != 0;
    if (token.is_dead) continue;
    TensorView& view = token.value.view;
    view.dtype = wire.dtype;
    bool good =
        dtype_size(wire.dtype) > 0 && wire.dtype != DType::kResource && wire.rank <= kMaxRank;
    for (int axis = 0; good && axis < wire.rank; ++axis) good = view.shape.add(wire.dims[axis]);
    uint64_t bytes = 0;
    if (good && is_plain(wire.dtype)) {
      good = !__builtin_mul_overflow(static_cast<uint64_t>(view.num_elements()),
                                     dtype_size(wire.dtype), &bytes) &&
             bytes == wire.bytes;
    } else if (good) {  // each string has its size in front
      good = wire.bytes / sizeof(uint64_t) >= static_cast<uint64_t>(view.num_elements());
    }
    if (!good) return broken("expected a tensor, got a header that describes none");
    expected_[i].bytes = wire.bytes;
  }
  token_ = 0;
  part_ = Part::kTensor;
  return num_tokens_ == 0 || begin_tensor();
}

bool FrameReader::begin_tensor() {
  Token& token = frame_.tokens[token_];
  Expected& expected = expected_[token_];
  left_ = 0;
  if (token.is_dead) return true;
  const TensorView described = token.value.view;
  bool enough = token.value.allocate(described.dtype, described.shape, &Allocator::process());
  to_ = static_cast<char*>(token.value.view.data);
  if (enough && !is_plain(described.dtype)) {
    Shape shape;
    enough = shape.add(static_cast<int64_t>(expected.bytes)) &&
             expected.raw.allocate(DType::kUInt8, shape, &Allocator::process());
    to_ = static_cast<char*>(expected.raw.view.data);
  }
  if (!enough) return broken("expected memory for a tensor, got none: it is exhausted");
  left_ = expected.bytes;
  return true;
}

bool FrameReader::end_tensor() {
  const Tensor& raw = expected_[token_].raw;
  if (raw.buffer == nullptr) return true;
  const std::string_view text(raw.view.as<char>(), raw.view.num_bytes());
  if (decode_strings(text, frame_.tokens[token_].value.view)) return true;
  return broken("expected strings, got bytes that hold fewer");
}

}  // namespace qanat
