// _Send and _Recv: the two ends of an edge between devices.
#include <string>
#include <utility>

#include "packages/core/native/executor/async_run.h"
#include "packages/core/native/executor/host_kernels.h"

namespace qanat {
namespace {

class Key {
 public:
  explicit Key(KernelInit& init)
      : key_{init.string_attr("send_device"), init.string_attr("recv_device"),
             init.string_attr("tensor_name"), ""} {}

  const TransferKey& key() const { return key_; }
  // In an iteration of that name.
  TransferKey in(const std::string& tag) const {
    TransferKey key = key_;
    key.tag = tag;
    return key;
  }

 private:
  TransferKey key_;
};

class SendKernel final : public Kernel {
 public:
  explicit SendKernel(KernelInit& init) : key_(init) {}

  void compute(KernelContext& context) override {
    auto& host = static_cast<StepContext&>(context);
    Token token;
    token.is_dead = host.dead();
    if (!token.is_dead && !host.share_input(0, &token.value)) return;
    const std::string tag = host.iteration_tag();
    host.fail_with(host.rendezvous().send(key_.in(tag), std::move(token)));
  }

 private:
  const Key key_;
};

class RecvKernel final : public AsyncKernel {
 public:
  explicit RecvKernel(KernelInit& init) : key_(init) {}

  void start(AsyncRun* run) override {
    Rendezvous& rendezvous = run->context().rendezvous();
    const std::string tag = run->context().iteration_tag();
    run->wait_at(&rendezvous);
    rendezvous.receive(key_.in(tag), run);
  }

  std::string awaited() const override {
    return "'" + std::string(key_.key().tensor) + "' from " + std::string(key_.key().source);
  }

 private:
  const Key key_;
};

}  // namespace

void register_transfer_kernels(KernelRegistry* registry) {
  registry->add<SendKernel>("_Send", {}, kRunsDead);
  registry->add<RecvKernel>("_Recv", {}, kAsync);
}

}  // namespace qanat
