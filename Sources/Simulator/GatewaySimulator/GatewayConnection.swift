// SPDX-License-Identifier: Apache-2.0
import APNS
import EventLoop
import GatewayModel
import HTTP2
import HTTP2Server
import ServiceKit
import Synchronization

/// The role of a listener: which gateway, and which of its two services.
struct ListenerRole: Sendable, Equatable {
  enum Service: Sendable { case device, management }

  let environment: Environment
  let service: Service
}

/// A connection and what the gateway knows about it.
final class GatewayConnection {
  let http: HTTP2ServerConnection
  let slot: Int
  /// Counts up over all loops of the gateway; never used again.
  let id: UInt64
  let role: ListenerRole
  /// Milliseconds since the epoch.
  let openedAt: Int64
  /// The SETTINGS planned when it was accepted; a limit of streams in them is not the model's to choose.
  var settings: SessionSettings
  /// The largest header list that was announced; a larger one is answered 431.
  var headerListLimit: Int { Int(settings.maxHeaderListSize ?? .max) }
  @exclusivity(unchecked) var access = ConnectionAccess()
  /// nil before TLS is up, and in the fast profile.
  @exclusivity(unchecked) var model: ConnectionModel?
  var isAuthenticated = false
  var isTouched = false
  /// Its handshake counts among those under way.
  var isHandshaking = true
  /// TLS is up and SETTINGS are on their way.
  var isReady = false
  /// Its certificate is refused: a GOAWAY goes out and no request is looked at.
  var isRefused = false
  var requests = 0
  /// The address that the client connected to, without the port.
  var host = ""
  /// When it was accepted, in ms of the loop's clock.
  var acceptedAt: UInt64 = 0
  /// The faults applied to it; nil if nothing.
  var faults: ConnectionFaults?
  /// Memory that answers of this connection point to; free when no stream is open.
  private var bodies: [UnsafeMutableRawBufferPointer] = []

  init(
    _ http: HTTP2ServerConnection, slot: Int, id: UInt64, role: ListenerRole,
    settings: SessionSettings, openedAt: Int64
  ) {
    self.http = http
    self.slot = slot
    self.id = id
    self.role = role
    self.settings = settings
    self.openedAt = openedAt
  }

  deinit { release() }

  /// Memory for an answer, to be kept until its stream has closed.
  func hold(_ bytes: some Collection<UInt8>) -> UnsafeRawBufferPointer {
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(bytes.count, 1), alignment: 1)
    memory.copyBytes(from: bytes)
    bodies.append(memory)
    return UnsafeRawBufferPointer(rebasing: memory[..<bytes.count])
  }

  /// Gives back the bodies once no answer can need it any more.
  func releaseIfIdle() {
    if !bodies.isEmpty, http.openStreams == 0 { release() }
  }

  private func release() {
    for memory in bodies { memory.deallocate() }
    bodies = []
  }
}

/// A request of the admin port to a loop.
enum LoopCommand: Sendable {
  /// Look at the clock again.
  case wake
  /// GOAWAY on the connection with this id; with `keepsOpen` its socket stays open afterwards.
  case goAway(UInt64, Reason, keepsOpen: Bool)
  /// Publish the list of connections as the answer to this question.
  case report(Int)
}

/// A connection, as the admin port shows it.
struct ConnectionReport: Sendable {
  var id: UInt64
  var role: ListenerRole
  var peer: String
  var serverName: String?
  var openedAt: Int64
  var certificateTopics: [String]
  var hasCertificate: Bool
  var team: String?
  var keyIDs: [String]
  var limit: UInt32
  var openStreams: Int
  var requests: Int
  var errorScore: Int
}

/// The values that a loop shares with the admin port.
struct LoopShare: Sendable {
  let world: GatewayWorld
  let faults: FaultControl
  /// nil unless the gateway stands in front of a real one.
  var relay: RelayPlan?
  let counters = Counters<SimulatorMetrics>()
  let reasons = ReasonTally()
  let log: RequestLog
  let commands = Mailbox<LoopCommand>(wakeup: Wakeup())
  let reports = ConnectionReports()
}

/// A loop's last list of connections, and which question it answers.
final class ConnectionReports: Sendable {
  private let state = Mutex((question: 0, list: [ConnectionReport]()))

  func answer(_ question: Int, _ list: [ConnectionReport]) {
    state.withLock { $0 = (question, list) }
  }

  /// The answer to this question, or nil while there is none.
  func list(for question: Int) -> [ConnectionReport]? {
    state.withLock { $0.question >= question ? $0.list : nil }
  }
}
