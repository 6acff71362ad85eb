// A task of a cluster, as far as steps go: runs its parts of them, and gives values to other tasks.
#ifndef PACKAGES_CORE_NATIVE_CLUSTER_TASK_H_
#define PACKAGES_CORE_NATIVE_CLUSTER_TASK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "packages/core/native/cluster/step_table.h"
#include "packages/core/native/cluster/step_threads.h"
#include "packages/core/native/cluster/transport.h"
#include "packages/core/native/executor/executable.h"

namespace qanat {

// Says hello on a fresh connection and waits for the answer: whether that is the incarnation that
// is meant. The session ends with the connection; 0 is none.
Status greet(const std::shared_ptr<Connection>& connection, uint64_t incarnation, uint64_t session,
             double timeout_s);

class Task final : public ConnectionHandler, public std::enable_shared_from_this<Task> {
 public:
  // `name`: "/job:ps/task:0"; `incarnation`: a number that no other life of this task has;
  // `threads`: that each session computes with, 0 for as many as this process may use.
  Task(std::string name, uint64_t incarnation, int threads);
  ~Task() override;

  const std::string& name() const { return name_; }

  // Accepts other tasks and clients at a listening socket, which it owns from now on.
  void listen(int socket);
  // Ends all steps, sessions and connections.
  void close(const Status& status);

  // The connection to fetch another task's values by; takes the place of an earlier one.
  void set_peer(const std::string& name, std::shared_ptr<Connection> connection);
  std::shared_ptr<Connection> peer(std::string_view name);

  // Variables and other state: of the task, whatever the session.
  Resources& resources() { return *resources_; }
  Status compile(uint64_t session, GraphDef graph, std::shared_ptr<Executable>* executable);
  // An executable that others may run parts of steps with: its number.
  uint64_t add(uint64_t session, std::shared_ptr<Executable> executable);
  // Forgets what a session has compiled here.
  void drop(uint64_t session);

  // Around a part of a step that is run by this process itself.
  StepTable& steps() { return steps_; }
  // Tells the tasks that values are fetched from that the step is over.
  void abort(uint64_t step, const Status& status);

  void handle(const std::shared_ptr<Connection>& connection, Message frame) override;
  void closed(const std::shared_ptr<Connection>& connection) override;

 private:
  struct Registered {
    uint64_t session;
    std::shared_ptr<Executable> executable;
  };

  void hello(const std::shared_ptr<Connection>& connection, const Message& frame);
  void run(const std::shared_ptr<Connection>& connection, Message frame);
  Message run_part(const std::shared_ptr<Connection>& client, Message frame,
                   Executable* executable);
  void give(const std::shared_ptr<Connection>& connection, const Message& frame);

  const std::string name_;
  const uint64_t incarnation_;
  const int threads_a_session_;
  const std::shared_ptr<Resources> resources_ = std::make_shared<Resources>();
  StepTable steps_;

  std::mutex mutex_;  // guards all below
  int listener_ = -1;
  bool is_closed_ = false;
  std::map<std::string, std::shared_ptr<Connection>, std::less<>> peers_;
  std::unordered_map<uint64_t, Registered> executables_;
  std::unordered_map<uint64_t, std::shared_ptr<Runtime>> runtimes_;  // by session
  uint64_t last_executable_ = 0;
  std::unordered_map<const Connection*, uint64_t> sessions_;  // what callers said hello with
  std::map<const Connection*, std::weak_ptr<Connection>> callers_;

  StepThreads threads_;  // last, so that it ends before what its threads use
};

// A task's part of a rendezvous: what is not sent here is fetched from the task that sends it.
class TaskRendezvous final : public Rendezvous {
 public:
  TaskRendezvous(Task* task, uint64_t step, StepTable::EntryPtr entry)
      : task_(*task), step_(step), entry_(std::move(entry)) {}

  Status send(const TransferKey& key, Token token) override;
  void receive(const TransferKey& key, Waiter* waiter) override;
  void cancel(Waiter* waiter, const Status& status) override;

 private:
  Task& task_;
  const uint64_t step_;
  const StepTable::EntryPtr entry_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Connection>> used_;  // guarded by mutex_; each once
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_CLUSTER_TASK_H_
