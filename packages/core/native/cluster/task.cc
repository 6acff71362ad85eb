#include "packages/core/native/cluster/task.h"

#include <chrono>
#include <condition_variable>
#include <utility>

namespace qanat {
namespace {

Message reply_to(uint64_t call, const Status& status) {
  Message frame;
  frame.type = MessageType::kReply;
  frame.call = call;
  BodyWriter(&frame.body).status(status);
  return frame;
}

Status give_arg(Step* step, size_t index, const Plan& plan, Token* token) {
  Tensor* arg = step->arg(index);
  if (arg == nullptr) return {};
  if (token->is_dead || token->value.view.dtype != plan.arg_dtypes[index]) {
    return error(StatusCode::kInvalidArgument,
                 format("feed %zu: expected %s, got %s", index, dtype_name(plan.arg_dtypes[index]),
                        dtype_name(token->value.view.dtype)));
  }
  *arg = std::move(token->value);
  return {};
}

// Whether it neither waits nor takes long: then the thread that reads may run it.
bool is_brief(const Plan& plan) {
  return plan.num_async == 0 && plan.num_expensive == 0 && plan.frames.size() == 1;
}

// Gives a value to the task that asked for it, once it is there.
class Gift final : public Waiter {
 public:
  Gift(std::shared_ptr<Connection> connection, uint64_t call, uint64_t step, StepTable* steps)
      : connection_(std::move(connection)), call_(call), step_(step), steps_(*steps) {}
  ~Gift() = default;

  void wake(const Status& status, std::span<Token> tokens) override {
    Message frame = reply_to(call_, status);
    for (Token& token : tokens) frame.tokens.push_back(std::move(token));
    connection_->send(std::move(frame));
    if (status.ok()) steps_.fetched(step_);
    delete this;
  }

 private:
  const std::shared_ptr<Connection> connection_;
  const uint64_t call_, step_;
  StepTable& steps_;
};

Status client_is_gone() {
  return error(StatusCode::kAborted, "the client that ran the step is gone");
}

}  // namespace

Status greet(const std::shared_ptr<Connection>& connection, uint64_t incarnation, uint64_t session,
             double timeout_s) {
  struct Answer {
    std::mutex mutex;
    std::condition_variable given;
    bool is_given = false;
    Status status;
  };
  auto answer = std::make_shared<Answer>();
  Message frame;
  frame.type = MessageType::kHello;
  BodyWriter body(&frame.body);
  body.number(incarnation);
  body.number(session);
  connection->call(std::move(frame), answer.get(), [answer](const Status& status, Message*) {
    std::lock_guard<std::mutex> lock(answer->mutex);
    answer->status = status;
    answer->is_given = true;
    answer->given.notify_all();
  });
  std::unique_lock<std::mutex> lock(answer->mutex);
  const std::chrono::duration<double> timeout(timeout_s);
  if (!answer->given.wait_for(lock, timeout, [&] { return answer->is_given; })) {
    answer->status =
        error(StatusCode::kUnavailable, format("expected %s to answer within %.1f s, got nothing",
                                               connection->peer().c_str(), timeout_s));
  }
  const Status status = answer->status;
  lock.unlock();
  if (!status.ok()) {
    connection->forget(answer.get());
    connection->close(status);
  }
  return status;
}

Task::Task(std::string name, uint64_t incarnation, int threads)
    : name_(std::move(name)), incarnation_(incarnation), threads_a_session_(threads) {}

Task::~Task() { close(error(StatusCode::kUnavailable, name_ + " has ended")); }

void Task::listen(int socket) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    listener_ = socket;
  }
  Transport::process().listen(socket, weak_from_this());
}

void Task::close(const Status& status) {
  std::vector<std::shared_ptr<Connection>> connections;
  std::unordered_map<uint64_t, Registered> executables;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (std::exchange(is_closed_, true)) return;
    if (listener_ >= 0) Transport::process().stop_listening(listener_);
    for (auto& [name, connection] : peers_) connections.push_back(connection);
    for (auto& [key, caller] : callers_) {
      if (auto connection = caller.lock()) connections.push_back(std::move(connection));
    }
    peers_.clear();
    executables.swap(executables_);
  }
  steps_.close(status);
  for (const auto& connection : connections) connection->close(status);
}

void Task::set_peer(const std::string& name, std::shared_ptr<Connection> connection) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::swap(peers_[name], connection);
  if (connection != nullptr) {
    connection->close(error(StatusCode::kAborted, "another connection has taken its place"));
  }
}

std::shared_ptr<Connection> Task::peer(std::string_view name) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = peers_.find(name);
  return found == peers_.end() ? nullptr : found->second;
}

Status Task::compile(uint64_t session, GraphDef graph, std::shared_ptr<Executable>* executable) {
  std::shared_ptr<Runtime> runtime;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<Runtime>& kept = runtimes_[session];
    if (kept == nullptr) kept = std::make_shared<Runtime>(threads_a_session_, resources_);
    runtime = kept;
  }
  std::unique_ptr<Executable> made;
  Status status = Executable::compile(std::move(runtime), std::move(graph), &made);
  *executable = std::move(made);
  return status;
}

uint64_t Task::add(uint64_t session, std::shared_ptr<Executable> executable) {
  std::lock_guard<std::mutex> lock(mutex_);
  executables_.emplace(++last_executable_, Registered{session, std::move(executable)});
  return last_executable_;
}

void Task::drop(uint64_t session) {
  std::vector<std::shared_ptr<Executable>> dropped;  // freed without the lock, as is the runtime
  std::shared_ptr<Runtime> runtime;
  std::lock_guard<std::mutex> lock(mutex_);
  auto kept = runtimes_.find(session);
  if (kept != runtimes_.end()) {
    runtime = std::move(kept->second);
    runtimes_.erase(kept);
  }
  for (auto entry = executables_.begin(); entry != executables_.end();) {
    if (entry->second.session != session) {
      ++entry;
      continue;
    }
    dropped.push_back(std::move(entry->second.executable));
    entry = executables_.erase(entry);
  }
}

void Task::abort(uint64_t step, const Status& status) {
  if (!steps_.abort(step, status)) return;
  std::vector<std::shared_ptr<Connection>> peers;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [name, connection] : peers_) peers.push_back(connection);
  }
  for (const auto& connection : peers) {
    Message frame;
    frame.type = MessageType::kAbort;
    frame.step = step;
    BodyWriter(&frame.body).status(status);
    connection->send(std::move(frame));
  }
}

void Task::handle(const std::shared_ptr<Connection>& connection, Message frame) {
  switch (frame.type) {
    case MessageType::kHello:
      return hello(connection, frame);
    case MessageType::kRun:
      return run(connection, std::move(frame));
    case MessageType::kReceive:
      return give(connection, frame);
    case MessageType::kAbort: {
      const Status status = BodyReader(frame.body).status();
      if (!status.ok()) abort(frame.step, status);
      return;
    }
    case MessageType::kReply:
      return;
  }
}

void Task::hello(const std::shared_ptr<Connection>& connection, const Message& frame) {
  BodyReader body(frame.body);
  const uint64_t incarnation = body.number(), session = body.number();
  Status status;
  if (!body.ok() || incarnation != incarnation_) {
    status = error(StatusCode::kAborted,
                   "expected an earlier life of " + name_ + ", got one that was started since");
  } else {
    std::lock_guard<std::mutex> lock(mutex_);
    sessions_[connection.get()] = session;
    callers_[connection.get()] = connection;
  }
  connection->send(reply_to(frame.call, status));
}

void Task::run(const std::shared_ptr<Connection>& connection, Message frame) {
  BodyReader body(frame.body);
  const uint64_t number = body.number();
  std::shared_ptr<Executable> executable;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = executables_.find(number);
    if (found != executables_.end()) executable = found->second.executable;
  }
  if (executable == nullptr) {
    return connection->send(reply_to(
        frame.call, error(StatusCode::kAborted, "expected a part that is registered at " + name_ +
                                                    ", got one of a session that has ended")));
  }
  if (is_brief(executable->plan())) {
    return connection->send(run_part(connection, std::move(frame), executable.get()));
  }
  auto shared = std::make_shared<Message>(std::move(frame));
  threads_.run([this, connection, shared, executable = std::move(executable)] {
    connection->send(run_part(connection, std::move(*shared), executable.get()));
  });
}

Message Task::run_part(const std::shared_ptr<Connection>& client, Message frame,
                       Executable* executable) {
  Status status;
  StepTable::EntryPtr entry = steps_.start(frame.step, client.get(), nullptr, &status);
  if (entry == nullptr) return reply_to(frame.call, status);
  // It may have closed while closed() could not find the step yet.
  if (!client->is_open()) abort(frame.step, client_is_gone());
  auto* rendezvous = new TaskRendezvous(this, frame.step, entry);
  Message reply;
  {
    const Plan& plan = executable->plan();
    Executable::Lease step(executable);
    BodyReader body(frame.body);
    body.number();  // the executable
    for (Token& token : frame.tokens) {
      if (status.ok()) status = give_arg(step.operator->(), body.number(), plan, &token);
    }
    StepOptions options;
    options.cancellation = &entry->cancellation;
    options.rendezvous = rendezvous;
    if (status.ok()) status = step->run(options);
    reply = reply_to(frame.call, status);
    if (status.ok()) {
      for (Tensor& result : step->results()) reply.tokens.push_back({std::move(result), false});
      status = check_size(reply);
      if (!status.ok()) reply = reply_to(frame.call, status);
    }
  }
  rendezvous->unref();
  if (status.ok()) {
    steps_.finish(frame.step);
  } else {
    // The client is told by the reply, which it knows the sender of; to others this is news.
    status.message += " (on " + name_ + ")";
    abort(frame.step, status);
  }
  return reply;
}

void Task::give(const std::shared_ptr<Connection>& connection, const Message& frame) {
  Status aborted;
  StepTable::EntryPtr entry = steps_.find(frame.step, &aborted);
  if (entry == nullptr) return connection->send(reply_to(frame.call, aborted));
  entry->values->receive_as(frame.body, new Gift(connection, frame.call, frame.step, &steps_));
}

void Task::closed(const std::shared_ptr<Connection>& connection) {
  uint64_t session = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = sessions_.find(connection.get());
    if (found != sessions_.end()) {
      session = found->second;
      sessions_.erase(found);
    }
    callers_.erase(connection.get());
  }
  for (uint64_t step : steps_.started_by(connection.get())) abort(step, client_is_gone());
  if (session != 0) drop(session);
}

}  // namespace qanat
