// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// Hands control messages from any thread to the one that owns the mailbox.
///
/// For control only (assignments, addresses, settings): each message takes a lock, which the hot
/// path never does.
public final class Mailbox<Message: Sendable>: Sendable {
  /// Signalled by each `post`; watch `wakeup.fd` in the owner's `Poller`.
  public let wakeup: Wakeup
  let messages = Mutex<[Message]>([])

  /// A mailbox that signals `wakeup`; several mailboxes of one loop may share one.
  public init(wakeup: Wakeup) { self.wakeup = wakeup }

  /// Appends a message and wakes the owner.
  public func post(_ message: Message) {
    messages.withLock { $0.append(message) }
    wakeup.signal()
  }

  /// Takes every message, oldest first. Does not clear the wakeup: the owner does that first.
  public func drain() -> [Message] {
    messages.withLock { waiting in
      let taken = waiting
      waiting = []
      return taken
    }
  }
}
