// _Send and _Recv: the two ends of an edge between devices.
#include "packages/core/native/executor/async_run.h"
#include "packages/core/native/executor/host_kernels.h"

namespace qanat {
namespace {

struct Key {
  explicit Key(KernelInit& init)
      : key{init.string_attr("send_device"), init.string_attr("recv_device"),
            init.string_attr("tensor_name"), ""} {}

  TransferKey key;
};

class SendKernel final : public Kernel {
 public:
  explicit SendKernel(KernelInit& init) : key_(init) {}

  void compute(KernelContext& context) override {
    auto& host = static_cast<StepContext&>(context);
    Token token;
    if (!host.share_input(0, &token.value)) return;
    host.fail_with(host.rendezvous().send(key_.key, std::move(token)));
  }

 private:
  const Key key_;
};

class RecvKernel final : public AsyncKernel {
 public:
  explicit RecvKernel(KernelInit& init) : key_(init) {}

  void start(AsyncRun* run) override {
    Rendezvous& rendezvous = run->context().rendezvous();
    run->wait_at(&rendezvous);
    rendezvous.receive(key_.key, run);
  }

  std::string awaited() const override {
    return "'" + std::string(key_.key.tensor) + "' from " + std::string(key_.key.source);
  }

 private:
  const Key key_;
};

}  // namespace

void register_transfer_kernels(KernelRegistry* registry) {
  registry->add<SendKernel>("_Send", {});
  registry->add<RecvKernel>("_Recv", {}, kAsync);
}

}  // namespace qanat
