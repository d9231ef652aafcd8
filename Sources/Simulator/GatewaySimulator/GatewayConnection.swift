// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import GatewayModel
import HTTP2
import ServiceKit
import Synchronization

/// The role of a listener: the environment, and which of the two services.
struct ListenerRole: Sendable, Equatable {
  enum Service: Sendable { case device, management }

  let environment: Environment
  let service: Service
}

/// A connection and what the gateway knows about it.
final class GatewayConnection {
  let http: HTTP2ServerConnection
  let slot: Int
  /// An id that is unique among all loops of the gateway and never reused.
  let id: UInt64
  let role: ListenerRole
  /// Milliseconds since the epoch.
  let openedAt: Int64
  /// The SETTINGS planned when the connection was accepted; a stream limit in them overrides the model's.
  var settings: SessionSettings
  /// The largest header list that was announced; a larger one is answered with 431.
  var headerListLimit: Int { Int(settings.maxHeaderListSize ?? .max) }
  @exclusivity(unchecked) var access = ConnectionAccess()
  /// The connection's model; nil before TLS is established, and in the fast profile.
  @exclusivity(unchecked) var model: ConnectionModel?
  var isAuthenticated = false
  var isTouched = false
  /// Whether the handshake counts as in progress.
  var isHandshaking = true
  /// Whether TLS is established and SETTINGS are queued.
  var isReady = false
  /// Whether the certificate is refused: GOAWAY is sent and requests are ignored.
  var isRefused = false
  var requests = 0
  /// The address that the client connected to, without the port.
  var host = ""
  /// The time of acceptance, in ms of the loop's clock.
  var acceptedAt: UInt64 = 0
  /// The faults applied to the connection; nil if there are none.
  var faults: ConnectionFaults?

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
}

/// A command of the admin API to a loop.
enum LoopCommand: Sendable {
  /// Check for changes.
  case wake
  /// Send GOAWAY on the connection with this id; with `keepsOpen` its socket stays open afterwards.
  case goAway(UInt64, Reason, keepsOpen: Bool)
  /// Publish the list of connections as the response to this question.
  case report(Int)
}

/// A connection as the admin API reports it.
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

/// The values that a loop shares with the admin API.
struct LoopShare: Sendable {
  let world: GatewayWorld
  let faults: FaultControl
  /// The relay to a real gateway; nil without `--in-front-of`.
  var relay: RelayPlan?
  let counters = Counters<SimulatorMetrics>()
  let reasons = ReasonTally()
  let log: RequestLog
  let commands = Mailbox<LoopCommand>(wakeup: Wakeup())
  let reports = ConnectionReports()
}

/// A loop's last list of connections, and the question that it answers.
final class ConnectionReports: Sendable {
  private let state = Mutex((question: 0, list: [ConnectionReport]()))

  func answer(_ question: Int, _ list: [ConnectionReport]) {
    state.withLock { $0 = (question, list) }
  }

  /// Returns the list for this question, or nil if it is not there yet.
  func list(for question: Int) -> [ConnectionReport]? {
    state.withLock { $0.question >= question ? $0.list : nil }
  }
}
