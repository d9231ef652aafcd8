// SPDX-License-Identifier: Apache-2.0
package import Synchronization

/// Hands control messages from any thread to the one that owns the mailbox.
///
/// For control only (assignments, addresses, settings): each message takes a lock, which the hot
/// path never does.
package final class Mailbox<Message: Sendable>: Sendable {
  /// Signalled by each `post`; watch `wakeup.fd` in the owner's `Poller`.
  package let wakeup: Wakeup
  @usableFromInline let messages = Mutex<[Message]>([])

  /// A mailbox that signals `wakeup`; several mailboxes of one loop may share one.
  @inlinable package init(wakeup: Wakeup) { self.wakeup = wakeup }

  /// Appends a message and wakes the owner.
  @inlinable package func post(_ message: Message) {
    messages.withLock { $0.append(message) }
    wakeup.signal()
  }

  /// Takes every message, oldest first. Does not clear the wakeup: the owner does that first.
  @inlinable package func drain() -> [Message] {
    messages.withLock { waiting in
      let taken = waiting
      waiting = []
      return taken
    }
  }
}
