// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import ServiceKit
import Settings
import Telemetry

/// `martlet send`: sends one push from the command line, and prints the outcome.
enum SendCommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    fileprivate var push = PushWords()
    fileprivate var request: [UInt8] = []
    /// The mistakes in the payload that devices ignore.
    fileprivate(set) var warnings = PayloadWarnings()
    fileprivate var cluster = ClusterSettings()
    @Declared(.boolean("wait", default: true, "Wait for the outcome, at most 30s."))
    fileprivate var waits: Bool
    @Declared(CommonSettings.pushTypes) private var pushTypeTexts: [String]
    @Declared(CommonSettings.lanes) private var laneTexts: [String]

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      cluster = try ClusterSettings(values, clientID: "martlet-send")
      request = try push.request(values)
      let reader = RequestReader(types: try PushTypes(values), lanes: try Lanes(values))
      do throws(RequestError) { warnings = try reader.checkWithTokens(request) } catch {
        throw SettingErrors(nil, "\(error)")
      }
    }
  }

  static let name = "send"
  static let summary =
    "Sends one push: checks the request as martlet-ingest does, produces it, waits for its receipt and prints the outcome in"
    + " one line. Exit status 1 if it was not delivered. For tests and single messages; martlet import sends many."
  static let table = SettingTable(declaredBy: Settings.self, kafkaProperties: true)

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    let cluster = try KafkaCluster(settings.cluster.kafka, context)
    let (push, names) = (settings.push, settings.cluster.names)
    try cluster.demand(names.requests, "martlet topics create creates it")
    settings.warnings.tell()
    let wait = settings.waits ? try OutcomeWait(push, cluster, names) : nil
    try cluster.write(names.requests, key: Array(push.target.utf8), settings.request)
    Audit.note("send", "\(push.id) of \(push.app)", context)
    guard let wait else {
      StandardOutput.line("requested \(push.id)")
      return
    }
    try wait.run(context)
  }
}

extension RequestReader {
  /// Throws the first error in a request, including its tokens.
  ///
  /// - Returns: the mistakes in its payload that devices ignore.
  fileprivate func checkWithTokens(_ text: [UInt8]) throws(RequestError) -> PayloadWarnings {
    let result = text.withUnsafeBytes { bytes in
      Result { () throws(RequestError) -> PayloadWarnings in
        let request = try read(bytes)
        var digits: [UInt8] = []
        for index in 0..<request.tokens.count {
          do throws(DeviceToken.Problem) {
            try DeviceToken.append(
              request.tokens[index].bindMemory(to: UInt8.self).span, to: &digits)
          } catch {
            throw RequestError(request.tokenField, .token(error))
          }
        }
        return request.warnings
      }
    }
    return try result.get()
  }
}

extension PayloadWarnings {
  /// Names the mistakes on standard error.
  func tell() {
    for warning in all { StandardError.line("warning: \(warning.member.path) \(warning.detail)") }
  }
}
