// SPDX-License-Identifier: Apache-2.0
public import EventLoop
import Synchronization

/// Passes a listener to the thread that owns it.
public final class Handover: Sendable {
  private let box: Mutex<Socket?>
  public init(_ socket: consuming Socket) { box = Mutex(socket) }
  public func take() -> Socket? { box.withLock { $0.take() } }
}
