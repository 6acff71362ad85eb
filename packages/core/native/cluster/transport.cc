#include "packages/core/native/cluster/transport.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace qanat {
namespace {

// What a sender may hand over before it has to be woken again; the system sees to the other end.
constexpr int kSendBuffer = 4 << 20;

void prepare(int socket) {
  const int on = 1, bytes = kSendBuffer;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
  fcntl(socket, F_SETFD, FD_CLOEXEC);
}

int spare_descriptor() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

}  // namespace

Connection::Connection(Transport* transport, int socket, std::string peer,
                       std::weak_ptr<ConnectionHandler> handler)
    : transport_(*transport),
      socket_(socket),
      peer_(std::move(peer)),
      handler_(std::move(handler)) {
  prepare(socket);
}

Connection::~Connection() { ::close(socket_); }

bool Connection::is_open() {
  std::lock_guard<std::mutex> lock(mutex_);
  return closed_.ok();
}

void Connection::send(Message frame) {
  OutgoingFrame outgoing(std::move(frame));
  std::lock_guard<std::mutex> lock(write_mutex_);
  if (!takes_frames_) return;
  if (queue_.empty()) {
    if (!outgoing.write(socket_)) {
      takes_frames_ = false;
      return close(error(StatusCode::kUnavailable, "it broke off"));
    }
    if (outgoing.done()) return;
    transport_.watch(socket_, true, false);
  }
  queue_.push_back(std::move(outgoing));
}

void Connection::call(Message frame, const void* owner, Reply reply) {
  Status problem = check_size(frame);
  if (problem.ok()) {
    std::lock_guard<std::mutex> lock(mutex_);
    problem = closed_;
    if (problem.ok()) {
      frame.call = ++last_call_;
      calls_.emplace(frame.call, Call{owner, std::move(reply)});
    }
  }
  if (!problem.ok()) return reply(problem, nullptr);
  send(std::move(frame));
}

bool Connection::forget(const void* owner) {
  std::vector<Call> forgotten;  // what a reply holds may end a connection: not under the lock
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto call = calls_.begin(); call != calls_.end();) {
    if (call->second.owner != owner) {
      ++call;
      continue;
    }
    forgotten.push_back(std::move(call->second));
    call = calls_.erase(call);
  }
  return !forgotten.empty();
}

// The transport's thread finds the socket shut and does the rest; whoever calls may hold locks.
void Connection::close(const Status& status) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!closed_.ok()) return;
    closed_ =
        error(status.code, "expected an answer of " + peer_ + ", got none: " + status.message);
  }
  shutdown(socket_, SHUT_RDWR);
}

void Connection::fail_calls() {
  std::unordered_map<uint64_t, Call> calls;
  Status status;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    calls.swap(calls_);
    status = closed_;
  }
  for (auto& [number, call] : calls) call.reply(status, nullptr);
}

void Connection::readable() {
  Message frame;
  while (true) {
    switch (reader_.read(socket_, &frame)) {
      case FrameReader::Outcome::kFrame:
        dispatch(std::move(frame));
        break;
      case FrameReader::Outcome::kWait:
        return;
      case FrameReader::Outcome::kClosed:
        close(error(StatusCode::kUnavailable, "it has closed the connection"));
        return transport_.remove(shared_from_this());
      case FrameReader::Outcome::kBroken:
        close(error(StatusCode::kUnavailable, reader_.problem()));
        return transport_.remove(shared_from_this());
    }
  }
}

void Connection::dispatch(Message frame) {
  if (frame.type != MessageType::kReply) {
    if (auto handler = handler_.lock()) handler->handle(shared_from_this(), std::move(frame));
    return;
  }
  Reply reply;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = calls_.find(frame.call);
    if (found == calls_.end()) return;  // forgotten
    reply = std::move(found->second.reply);
    calls_.erase(found);
  }
  BodyReader body(frame.body);
  const Status status = body.status();
  reply(body.ok() ? status : error(StatusCode::kInternal, "expected a status, got other bytes"),
        &frame);
}

void Connection::drop_frames() {
  std::deque<OutgoingFrame> dropped;  // their values are freed without the lock
  std::lock_guard<std::mutex> lock(write_mutex_);
  takes_frames_ = false;
  dropped.swap(queue_);
}

void Connection::writable() {
  std::deque<OutgoingFrame> dropped;
  std::lock_guard<std::mutex> lock(write_mutex_);
  while (!queue_.empty()) {
    if (!queue_.front().write(socket_)) {
      takes_frames_ = false;
      dropped.swap(queue_);
      close(error(StatusCode::kUnavailable, "it broke off"));
    } else if (!queue_.front().done()) {
      return;
    } else {
      queue_.pop_front();
    }
  }
  transport_.watch(socket_, false, false);
}

Transport& Transport::process() {
  static auto* const transport = new Transport;
  return *transport;
}

Transport::Transport() : epoll_(epoll_create1(EPOLL_CLOEXEC)), spare_(spare_descriptor()) {
  std::thread(&Transport::run, this).detach();
}

void Transport::watch(int socket, bool for_writing, bool added) {
  epoll_event event{};
  event.events = EPOLLIN | (for_writing ? EPOLLOUT : 0u);
  event.data.fd = socket;
  epoll_ctl(epoll_, added ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event);
}

std::shared_ptr<Connection> Transport::add(int socket, std::string peer,
                                           std::weak_ptr<ConnectionHandler> handler) {
  std::lock_guard<std::mutex> lock(mutex_);
  return add_locked(socket, std::move(peer), std::move(handler));
}

std::shared_ptr<Connection> Transport::add_locked(int socket, std::string peer,
                                                  std::weak_ptr<ConnectionHandler> handler) {
  auto connection = std::make_shared<Connection>(this, socket, std::move(peer), std::move(handler));
  connections_[socket] = connection;
  watch(socket, false, true);
  return connection;
}

void Transport::listen(int socket, std::weak_ptr<ConnectionHandler> handler) {
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    listeners_[socket] = std::move(handler);
  }
  watch(socket, false, true);
}

void Transport::stop_listening(int socket) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (listeners_.erase(socket) == 0) return;
  epoll_ctl(epoll_, EPOLL_CTL_DEL, socket, nullptr);
  ::close(socket);
}

void Transport::run() {
  std::array<epoll_event, 64> events;
  while (true) {
    const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) serve(events[i].data.fd, events[i].events);
  }
}

void Transport::serve(int socket, uint32_t events) {
  std::shared_ptr<Connection> connection;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto listener = listeners_.find(socket);
    if (listener != listeners_.end()) return accept_all(socket, listener->second);
    auto found = connections_.find(socket);
    if (found == connections_.end()) return;
    connection = found->second;
  }
  if ((events & EPOLLOUT) != 0) connection->writable();
  if ((events & ~static_cast<uint32_t>(EPOLLOUT)) != 0) connection->readable();
}

// Under the lock, so that the listener's number is not another socket's meanwhile.
void Transport::accept_all(int listener, const std::weak_ptr<ConnectionHandler>& handler) {
  while (true) {
    const int socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket >= 0) {
      add_locked(socket, "a task that has connected", handler);
    } else if (errno == EMFILE || errno == ENFILE) {
      if (!refuse_one(listener)) return;
    } else if (errno != EINTR) {
      return;
    }
  }
}

// Without a descriptor a connection can't be accepted, and the listener would stay readable. So it
// is accepted with the spare one and closed: the other end is told at once.
bool Transport::refuse_one(int listener) {
  ::close(spare_);
  const int socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (socket >= 0) ::close(socket);
  spare_ = spare_descriptor();
  return socket >= 0;
}

// The socket's number is free for others once the connection is gone, so it is no longer watched.
void Transport::remove(const std::shared_ptr<Connection>& connection) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, connection->socket_, nullptr);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    connections_.erase(connection->socket_);
  }
  connection->drop_frames();
  connection->fail_calls();
  if (auto handler = connection->handler_.lock()) handler->closed(connection);
}

}  // namespace qanat
