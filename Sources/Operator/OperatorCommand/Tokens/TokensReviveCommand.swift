// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import ServiceKit
import Settings
import Store

/// `martlet tokens revive TOKEN…`: registers tokens now, so that pushes are sent to them again.
enum TokensReviveCommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    var tokens: [String] = []
    var cluster = ClusterSettings()
    fileprivate var selection = TokenSelection()
    @Declared(CommandSettings.isConfirmed) var isConfirmed: Bool

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      cluster = try ClusterSettings(values, clientID: "martlet-tokens")
      for token in values.operands {
        do throws(DeviceToken.Problem) {
          tokens.append(try DeviceToken.normalized(token))
        } catch {
          throw SettingErrors(nil, "the token \(DeviceToken.shortened(token)) \(error)")
        }
      }
    }
  }

  static let name = "tokens revive"
  static let summary =
    "Makes invalid tokens valid again: produces a registration with the current time and the details in the database to"
    + " the devices topic for each. For tokens that were reported by mistake; APNs may report them again."
  static let table = SettingTable(
    declaredBy: Settings.self, kafkaProperties: true,
    operands: .init("TOKEN", 1...1_000, "Device tokens, hex digits."))

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    if !settings.isConfirmed {
      let count = try invalidDevices(settings).count
      try Confirmation.ask("register \(count) invalid tokens as of now", context)
    }
    // Until the question is answered devices register and are forgotten. What they do after this reading is newer.
    let now = WallClock.milliseconds()
    let invalid = try invalidDevices(settings)
    let cluster = try KafkaCluster(settings.cluster.kafka, context)
    try cluster.demand(settings.cluster.names.devices, "nothing was done: check --topic-prefix")
    let output = try TokenProducer(cluster, settings.cluster.names)
    var revived = 0
    defer {
      // Answers to what was produced before an error.
      output.flush(timeoutMilliseconds: Audit.lastWait)
      revived += output.drainProgress().devices
      output.close()
      let names = invalid.prefix(100).map { DeviceToken.shortened($0.device.token) }
      let subject = deed(revived, of: invalid.count, names, unanswered: output.outstanding)
      Audit.note(name, subject, context)
    }
    try produce(invalid, asOf: now, output, context, &revived)
    StandardOutput.line("\(revived) tokens registered as of now")
  }

  /// The subject for the audit.
  ///
  /// - Parameter names: The first of the `count` tokens, shortened.
  static func deed(
    _ revived: Int, of count: Int, _ names: [String], unanswered: Int
  ) -> String {
    "\(revived) of \(count) tokens: \(names.joined(separator: " "))" + Audit.doubt(unanswered)
  }

  /// What an interrupted command has done.
  static func registered(_ revived: Int, of count: Int, unanswered: Int) -> String {
    "\(revived) of \(count) tokens were registered" + Audit.doubt(unanswered)
  }

  private static func invalidDevices(_ settings: Settings) throws(ServiceFailure) -> [KnownDevice] {
    let found: [KnownDevice] = try settings.selection.read { reader throws(StoreError) in
      var invalid: [KnownDevice] = []
      for token in settings.tokens {
        let known = try reader.whileComplete { () throws(StoreError) in
          try reader.devices(token: token)
        }
        invalid += known.filter {
          $0.state.isInvalid && settings.selection.takes($0.device.app, $0.device.environment)
        }
      }
      return invalid
    }
    guard !found.isEmpty else { throw ServiceFailure("none of these tokens is invalid") }
    return found
  }

  private static func produce(
    _ invalid: [KnownDevice], asOf now: Int64, _ output: TokenProducer, _ context: ServiceContext,
    _ revived: inout Int
  ) throws(ServiceFailure) {
    var watch = output.watch
    var noProgress: ProgressLine?
    func drain() throws(ServiceFailure) {
      let taken = output.drainProgress()
      revived += taken.devices
      try watch.look(output.standing, &noProgress)
      if let refused = taken.refused.first { throw ServiceFailure("\(refused.error)") }
    }
    for (index, known) in invalid.enumerated() {
      // APNs' clock may be ahead of ours: the registration must be later than APNs' time in any case.
      let time = max(now, known.state.mark?.aliveFrom ?? now)
      let record = DeviceRecord(
        device: known.device, event: .registered(at: time), details: known.state.details)
      while try !orFail({ try output.produce(record, line: index) }) {
        output.flush()
        try drain()
      }
    }
    while output.outstanding > 0 {
      if context.signals.isStopping {
        throw context.signals.interrupted(
          registered(revived, of: invalid.count, unanswered: output.outstanding))
      }
      output.flush()
      try drain()
    }
    try drain()
  }
}
