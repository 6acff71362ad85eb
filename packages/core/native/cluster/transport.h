// Sockets between tasks, served by one thread a process.
//
// A connection carries frames both ways. Whoever sends writes to the socket itself as far as it
// takes, so that a small frame costs one system call and no hand-over; the transport's thread
// writes the rest, and reads.
#ifndef PACKAGES_CORE_NATIVE_CLUSTER_TRANSPORT_H_
#define PACKAGES_CORE_NATIVE_CLUSTER_TRANSPORT_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "packages/core/native/cluster/message.h"

namespace qanat {

class Connection;
class Transport;

// Whoever accepts connections. Called by the transport's thread: it must not block.
class ConnectionHandler {
 public:
  virtual ~ConnectionHandler() = default;
  // A frame that is no reply.
  virtual void handle(const std::shared_ptr<Connection>& connection, Message frame) = 0;
  virtual void closed(const std::shared_ptr<Connection>& connection) = 0;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // Called once, with the reply or with the failure of the connection, never under a lock.
  using Reply = std::function<void(const Status&, Message*)>;

  // Owns the socket. `peer` is how errors name the other end.
  Connection(Transport* transport, int socket, std::string peer,
             std::weak_ptr<ConnectionHandler> handler);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const std::string& peer() const { return peer_; }
  bool is_open();

  // Drops the frame where the connection is closed.
  void send(Message frame);
  // Sends a frame that is replied to, or replies itself why it cannot be sent. `owner` is whom
  // forget() forgets.
  void call(Message frame, const void* owner, Reply reply);
  // The calls of an owner are not replied to any more; false where there is none: its reply is
  // being given, or was.
  bool forget(const void* owner);
  // Ends all calls with that status; the first counts.
  void close(const Status& status);

 private:
  friend class Transport;

  struct Call {
    const void* owner;
    Reply reply;
  };

  void readable();
  void writable();
  void dispatch(Message frame);
  void fail_calls();
  void drop_frames();

  Transport& transport_;
  const int socket_;
  const std::string peer_;
  const std::weak_ptr<ConnectionHandler> handler_;
  FrameReader reader_;  // the transport's thread alone

  std::mutex write_mutex_;  // guards all below up to mutex_
  std::deque<OutgoingFrame> queue_;
  bool takes_frames_ = true;

  std::mutex mutex_;  // guards all below
  std::unordered_map<uint64_t, Call> calls_;
  uint64_t last_call_ = 0;
  Status closed_;
};

class Transport {
 public:
  // The process's own, never destroyed.
  static Transport& process();

  // Serves a connected socket, which it owns from now on.
  std::shared_ptr<Connection> add(int socket, std::string peer,
                                  std::weak_ptr<ConnectionHandler> handler);
  // Accepts connections at a listening socket, which it owns from now on, until stop_listening().
  void listen(int socket, std::weak_ptr<ConnectionHandler> handler);
  void stop_listening(int socket);

 private:
  friend class Connection;

  Transport();

  void run();
  void serve(int socket, uint32_t events);
  // These two under mutex_.
  std::shared_ptr<Connection> add_locked(int socket, std::string peer,
                                         std::weak_ptr<ConnectionHandler> handler);
  void accept_all(int listener, const std::weak_ptr<ConnectionHandler>& handler);
  bool refuse_one(int listener);
  void watch(int socket, bool for_writing, bool added);
  void remove(const std::shared_ptr<Connection>& connection);

  const int epoll_;
  std::mutex mutex_;  // guards all below
  int spare_;         // a descriptor to accept with where the process has no other left
  std::map<int, std::shared_ptr<Connection>> connections_;
  std::map<int, std::weak_ptr<ConnectionHandler>> listeners_;
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_CLUSTER_TRANSPORT_H_
