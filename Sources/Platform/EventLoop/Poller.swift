// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc

/// The events of a descriptor to be reported. Hang-ups and errors are always told.
public struct Interest: OptionSet, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  public static let readable = Interest(rawValue: 1)
  public static let writable = Interest(rawValue: 2)

  fileprivate var events: UInt32 {
    (contains(.readable) ? EPOLLIN.rawValue | EPOLLRDHUP.rawValue : 0)
      | (contains(.writable) ? EPOLLOUT.rawValue : 0)
  }
}

/// One descriptor that is ready, as `Poller.wait` reports it.
public struct ReadyEvent: Sendable, Equatable {
  /// The number given when the descriptor was added.
  public var token: UInt64
  public var readable: Bool
  public var writable: Bool
  /// The peer closed its side, or the descriptor is in error; reading says which.
  public var hangup: Bool
}

/// Waits for descriptors (epoll(7), level-triggered). Owned by one thread.
public final class Poller {
  /// The epoll descriptor, for another poller: readable while something is ready here.
  public let fd: Int32
  private let slots: UnsafeMutablePointer<epoll_event>
  private let capacity: Int32

  /// A poller that reports at most `capacity` descriptors a turn; the rest come next turn.
  public init(capacity: Int = 256) throws(SystemError) {
    let opened = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard opened >= 0 else { throw SystemError.last("cannot open an epoll descriptor") }
    fd = opened
    slots = .allocate(capacity: capacity)
    slots.initialize(repeating: epoll_event(), count: capacity)
    self.capacity = Int32(capacity)
  }

  deinit {
    slots.deallocate()
    close(fd)
  }

  /// Starts watching `descriptor`; `token` comes back in its events.
  public func add(_ descriptor: Int32, token: UInt64, _ interest: Interest) throws(SystemError) {
    guard control(EPOLL_CTL_ADD, descriptor, token, interest) else {
      throw SystemError.last("cannot watch a descriptor")
    }
  }

  /// Changes what is watched, or the token.
  public func modify(_ descriptor: Int32, token: UInt64, _ interest: Interest) throws(SystemError) {
    guard control(EPOLL_CTL_MOD, descriptor, token, interest) else {
      throw SystemError.last("cannot change the watch on a descriptor")
    }
  }

  /// Stops watching. Unknown descriptors are ignored: closing one already removed it.
  public func remove(_ descriptor: Int32) {
    _ = control(EPOLL_CTL_DEL, descriptor, 0, [])
  }

  /// Waits until something is ready or `timeoutMilliseconds` passed (negative: no limit, 0: look
  /// only) and replaces `events` by what is ready. A signal ends the wait: also with no events.
  public func wait(timeoutMilliseconds: Int32, into events: inout [ReadyEvent]) {
    events.removeAll(keepingCapacity: true)
    var count = epoll_wait(fd, slots, capacity, timeoutMilliseconds)
    // So wakes a process that was stopped. What came meanwhile is there, and is to be seen before the time is.
    if count < 0, errno == EINTR {
      count = epoll_wait(fd, slots, capacity, 0)
    }
    guard count > 0 else { return }
    for index in 0..<Int(count) {
      let flags = slots[index].events
      let isBroken = flags & (EPOLLERR.rawValue | EPOLLHUP.rawValue | EPOLLRDHUP.rawValue) != 0
      events.append(
        ReadyEvent(
          token: slots[index].data.u64,
          readable: flags & EPOLLIN.rawValue != 0,
          writable: flags & EPOLLOUT.rawValue != 0,
          hangup: isBroken))
    }
  }

  private func control(
    _ operation: Int32, _ descriptor: Int32, _ token: UInt64, _ interest: Interest
  ) -> Bool {
    var event = epoll_event(events: interest.events, data: epoll_data_t(u64: token))
    return epoll_ctl(fd, operation, descriptor, &event) == 0
  }
}
