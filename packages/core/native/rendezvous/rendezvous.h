// Where the parts of one step meet: a value is sent under a key, and received under it once.
#ifndef PACKAGES_CORE_NATIVE_RENDEZVOUS_RENDEZVOUS_H_
#define PACKAGES_CORE_NATIVE_RENDEZVOUS_RENDEZVOUS_H_

#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "packages/core/native/rendezvous/waiter.h"

namespace qanat {

// What names a transfer. Two devices, because a tensor may go to several; the frame and the
// iteration, because a loop sends again and again.
struct TransferKey {
  std::string_view source;       // a device's whole name
  std::string_view destination;  // likewise
  std::string_view tensor;       // "node:port"
  std::string_view tag;          // "frame:iteration"; "" outside of loops

  std::string str() const;
};

class Rendezvous : public WaitingPlace {
 public:
  const char* kind() const final { return "rendezvous"; }
  // Keeps the token until it is received. Nobody waits for the receiver.
  virtual Status send(const TransferKey& key, Token token) = 0;
  // Wakes the waiter with one token: at once where it was sent already.
  virtual void receive(const TransferKey& key, Waiter* waiter) = 0;
};

// Of the parts that run in this process. Thread-safe.
class LocalRendezvous : public Rendezvous {
 public:
  Status send(const TransferKey& key, Token token) override;
  void receive(const TransferKey& key, Waiter* waiter) override;
  void cancel(Waiter* waiter, const Status& status) override;

  // Forgets a waiter; false where it is not here.
  bool forget(Waiter* waiter);

  // As send() and receive(), by the key's text.
  Status send_as(std::string key, Token token);
  void receive_as(std::string key, Waiter* waiter);

  // Ends the step: wakes all who wait, and whoever comes later, with the first status it is given,
  // and drops what nobody has received.
  void abort(const Status& status);

  // Whether nobody waits and nothing is kept.
  bool empty();

 private:
  struct Meeting {
    Waiter* waiter = nullptr;  // or, without one, a token that was sent
    Token token;
  };

  std::mutex mutex_;                                   // guards all below; nobody is woken under it
  std::unordered_map<std::string, Meeting> meetings_;  // by the key's text
  Status aborted_;
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_RENDEZVOUS_RENDEZVOUS_H_
