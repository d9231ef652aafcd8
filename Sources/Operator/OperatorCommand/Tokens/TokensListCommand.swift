// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Records
import ServiceKit
import Settings
import Store
import Telemetry

/// `martlet tokens list`: lists device tokens of the database, one per line, for people or for `martlet tokens import`.
enum TokensListCommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    fileprivate var selection = TokenSelection()

    @Declared(
      .choice("state", of: ["registered", "removed", "invalid"], "Only tokens in this state."))
    fileprivate var state: String?

    @Declared(.text("user", "Only devices of this user, as registrations name it."))
    var user: String?

    @Declared(
      .boolean(
        "json",
        "Print all that is known of each as one JSON object, which martlet tokens import reads."))
    var isJSON: Bool

    @Declared(.integer("limit", "At most this many: 100, or with --json all; 0 means all."))
    private var givenLimit: Int?

    @Declared(.boolean("count", "Print only how many of them are in each state."))
    var isCount: Bool

    /// The maximum number of tokens; 0 for no limit.
    fileprivate var limit: Int { givenLimit ?? (isJSON ? 0 : 100) }

    fileprivate var filter: DeviceFilter {
      DeviceFilter(
        app: selection.app, environment: selection.environment,
        word: state.flatMap { DeviceState.Word(rawValue: $0) })
    }

    /// Calls `body` for every token that is meant; `body` returns false to stop.
    fileprivate func visit(
      _ reader: TokenStoreReader, _ body: (KnownDevice) -> Bool
    ) throws(StoreError) {
      guard let user else { return try reader.forEachDevice(filter, body) }
      for known in try reader.devices(ofUser: user.exact) where filter.takes(known) {
        guard body(known) else { return }
      }
    }

    /// How many of the tokens that are meant are in each state, as far as they are `wanted`.
    func counts(
      _ reader: TokenStoreReader, wanted: () -> Bool = { true }
    ) throws(StoreError) -> [DeviceState.Word: Int] {
      var counts: [DeviceState.Word: Int] = [:]
      if user == nil, state == nil, selection.app == nil, selection.environment == nil {
        let all = try reader.deviceCounts()
        for word in DeviceState.Word.allCases { counts[word] = all[word] }
        return counts
      }
      try visit(reader) { known in
        if let word = known.state.word { counts[word, default: 0] += 1 }
        return wanted()
      }
      return counts
    }
  }

  static let name = "tokens list"
  static let summary =
    "Lists device tokens of the database with app, environment and state, in the order of the tokens; with --user those of"
    + " a user, by app and age, with what they are for and how long ago they were registered. With --json it exports them"
    + " for martlet tokens import and for other programs. The database may be in use."
  static let table = SettingTable(declaredBy: Settings.self)

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    if settings.isCount {
      let counts = try settings.selection.whileComplete { reader throws(StoreError) in
        try settings.counts(reader) { !context.signals.isStopping }
      }
      if context.signals.isStopping { throw context.signals.interrupted("not all was counted") }
      for line in lines(counts, isJSON: settings.isJSON) { StandardOutput.line(line) }
      return
    }
    var progress =
      settings.isJSON && isatty(STDOUT_FILENO) == 0
      ? ProgressLine("tokens list", unit: "tokens") : nil
    defer { progress?.end() }
    var count = 0
    let show = { (known: KnownDevice) in
      if settings.limit > 0, count == settings.limit {
        StandardError.line("… more than \(settings.limit); --limit 0 shows all")
        return false
      }
      count += 1
      if count % 256 == 0 { progress?.update(count: count, fraction: nil) }
      return StandardOutput.line(line(known, settings)) && !context.signals.isStopping
    }
    try settings.selection.whileComplete { reader throws(StoreError) in
      try settings.visit(reader, show)
    }
    if context.signals.isStopping { throw context.signals.interrupted("not all was listed") }
  }

  private static func line(_ known: KnownDevice, _ settings: Settings) -> String {
    if settings.isJSON { return known.exported.line }
    let sign = settings.user == nil ? "" : signOfLife(known.state, now: WallClock.milliseconds())
    let device = known.device
    return TerminalText.plain(
      "\(device.token)  \(device.app)  \(device.environment)  \(TokenText.state(known.state))\(sign)"
    )
  }

  /// The purpose of a user's token, and the time since it was registered, which is its last sign of life.
  static func signOfLife(_ state: DeviceState, now: Int64) -> String {
    let details = state.details
    let uses = [details.pushType, details.activity, details.model].compactMap(\.self)
    let age = state.registeredAt.map { time in
      "registered \(StatusText.duration(Double(max(0, now - time)) / 1_000)) ago"
    }
    return (uses + [age].compactMap(\.self)).map { "  \($0)" }.joined()
  }

  static func lines(_ counts: [DeviceState.Word: Int], isJSON: Bool) -> [String] {
    let all = DeviceState.Word.allCases.map { ($0.rawValue, counts[$0] ?? 0) }
    guard isJSON else { return all.map { "\($0) \($1)" } }
    var object = JSONObject()
    for (word, count) in all { object.append(word, .integer(Int64(count))) }
    return [object.line]
  }
}
