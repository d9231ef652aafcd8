// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import GatewayModel
import HTTP2
import ServiceKit

/// Carries out what the rules decided about a connection.
extension SimulatorLoop {
  /// The time in ms after which a silent connection is closed.
  private static let silenceLimit: UInt64 = 600_000

  func event(_ stage: FaultStage, _ connection: GatewayConnection) -> FaultEvent {
    FaultEvent(
      stage, time: shared.faults.time(now), environment: connection.role.environment,
      address: connection.host, connection: connection.id,
      age: now - min(now, connection.acceptedAt),
      idle: now - min(now, connection.faults?.heard ?? now))
  }

  /// Applies a decision before the connection exists.
  func change(_ plan: inout ConnectionPlan, _ decision: FaultDecision) {
    switch decision.action {
    case .refuse: plan.isRefused = true
    case .disconnect(let kind):
      plan.isRefused = true
      plan.isReset = kind == .reset
    case .limits(_, let hold):
      plan.faults?.limit = UInt32(truncatingIfNeeded: decision.value)
      plan.faults?.limitEnds = hold.map { now + $0 }
    case .settings(let change):
      plan.settings.apply(change)
    case .tls(let fault): plan.tls = shared.faults.context(of: fault) ?? plan.tls
    default: break
    }
  }

  /// Applies a decision as soon as the connection exists.
  func open(_ connection: GatewayConnection, _ decision: FaultDecision) {
    switch decision.action {
    case .settings(let change):
      if let limit = change.earlyAnswerLimit { connection.http.faulty?.earlyAnswerLimit = limit }
      if let hold = change.windowHold { holdWindows(connection, hold) }
    case .tls(let fault) where fault.kind == .slow:
      connection.http.isReadingPaused = true
      connection.faults?.readingResumes = now + fault.delay
    default: break
    }
  }

  /// Applies a decision to a connection with TLS established, at the request on `stream` if there is one.
  func apply(_ decision: FaultDecision, _ connection: GatewayConnection, stream: Int32? = nil) {
    if connection.faults == nil { connection.faults = ConnectionFaults(now: now) }
    touch(connection)
    switch decision.action {
    case .goAway(let goAway): send(goAway, connection, stream)
    case .disconnect(.reset): connection.http.abort()
    case .disconnect(.end): connection.http.close()
    case .silence(let silence): quiet(connection, silence)
    case .limits(_, let hold):
      let limit = UInt32(truncatingIfNeeded: decision.value)
      connection.faults?.limit = limit
      connection.faults?.limitEnds = hold.map { now + $0 }
      tellLimit(connection)
    case .settings(let change):
      connection.settings.apply(change)
      connection.http.update(
        SettingsChange(
          headerTableSize: change.headerTableSize, initialWindowSize: change.initialWindowSize,
          maxHeaderListSize: change.maxHeaderListSize))
      if let hold = change.windowHold { holdWindows(connection, hold) }
    default: break
    }
  }

  private func tellLimit(_ connection: GatewayConnection) {
    let limit = connection.model?.limit ?? known.rules.maxConcurrentStreams
    connection.announce(limit)
  }

  private func quiet(_ connection: GatewayConnection, _ silence: FaultSilence) {
    switch silence {
    case .answers: break
    case .reading: connection.http.isReadingPaused = true
    case .pings: connection.http.faulty?.mute(.pingAnswers)
    case .settings:
      connection.http.faulty?.mute(.everything, discardingQueued: true)
      connection.http.staysOpen = true
    case .everything: connection.http.goSilent()
    }
    if silence == .settings || silence == .everything { connection.faults?.isSilent = true }
    if silence != .answers, silence != .pings {
      connection.faults?.closesAt = now + Self.silenceLimit
    }
  }

  private func holdWindows(_ connection: GatewayConnection, _ time: UInt64) {
    connection.http.faulty?.holdWindowUpdates(true)
    connection.faults?.windowsEnd = now + time
  }

  private func send(_ goAway: FaultGoAway, _ connection: GatewayConnection, _ stream: Int32?) {
    let newest = UInt32(bitPattern: max(0, connection.http.lastStreamID))
    var lowest = UInt32(Int32.max)
    for frame in goAway.frames {
      let last: UInt32 =
        switch frame.last {
        case .current: newest
        case .before(let streams): newest - min(newest, streams &* 2)
        case .beforeRequest: max(2, stream.map { UInt32(bitPattern: $0) } ?? newest) - 2
        case .exactly(let id): id
        }
      lowest = min(lowest, last)
      connection.http.faulty?.sendRawGoAway(
        lastStreamID: last, code: frame.code, debug: frame.debug)
    }
    connection.faults?.lastStreamID = Int32(bitPattern: lowest)
    switch goAway.aftermath {
    case .drain: connection.http.endsWhenIdle = true
    case .close:
      connection.http.flush()
      connection.http.close()
    case .silence:
      connection.http.faulty?.mute(.everything)
      connection.http.staysOpen = true
      connection.faults?.isSilent = true
      connection.faults?.closesAt = now + Self.silenceLimit
    }
  }

  /// Ends faults whose time is over.
  func endFaults(_ connection: GatewayConnection) {
    guard let faults = connection.faults else { return }
    if let end = faults.limitEnds, now >= end {
      connection.faults?.limit = nil
      connection.faults?.limitEnds = nil
      tellLimit(connection)
      touch(connection)
    }
    if let end = faults.windowsEnd, now >= end {
      connection.faults?.windowsEnd = nil
      connection.http.faulty?.holdWindowUpdates(false)
      touch(connection)
    }
    if let end = faults.readingResumes, now >= end {
      connection.faults?.readingResumes = nil
      connection.http.isReadingPaused = false
    }
    if let end = faults.closesAt, now >= end {
      connection.http.close()
      touch(connection)
    }
  }

  /// Handles a change of the rules.
  func updateFaults() {
    knownFaults = shared.faults.version
    applyStandingFaults()
    shared.faults.applied(knownFaults, loop: faultPlace)
  }

  /// Applies the conditions of the whole gateway: its clock, its keys, and which addresses accept connections.
  func applyStandingFaults() {
    let event = FaultEvent(.standing, time: shared.faults.time(now))
    let before = standing
    standing = StandingFaults(shared.faults.standing(event))
    wallNow += standing.clockSkew - before.clockSkew
    if standing.credentials != before.credentials { updateRules() }
    guard drainEnds == nil else { return }
    for (place, listener) in listeners.enumerated() {
      let isDead = standing.isDead(listener)
      guard isDead == listener.isOpen else { continue }
      if isDead {
        poller.remove(listener.fd)
        listener.close()
      } else {
        reopen(listener, place)
      }
    }
  }

  private func reopen(_ listener: GatewayListener, _ place: Int) {
    do throws(SystemError) {
      try listener.reopen()
      try poller.add(listener.fd, token: Self.firstListenerToken + UInt64(place), .readable)
    } catch {
      context.log(SimulatorLog.notListening, ["error": "\(error)"])
    }
  }
}

extension GatewayConnection {
  /// The stream limit to announce if the gateway would allow `limit`.
  func permitted(_ limit: UInt32) -> UInt32 { min(limit, faults?.limit ?? .max) }

  /// Announces the stream limit if the gateway would allow `limit`.
  func announce(_ limit: UInt32) {
    http.update(SettingsChange(maxConcurrentStreams: permitted(limit), repeating: settings))
  }
}

extension SessionSettings {
  fileprivate mutating func apply(_ change: FaultSettings) {
    initialWindowSize = change.initialWindowSize ?? initialWindowSize
    headerTableSize = change.headerTableSize ?? headerTableSize
    maxHeaderListSize = change.maxHeaderListSize ?? maxHeaderListSize
  }
}
