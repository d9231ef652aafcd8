// SPDX-License-Identifier: Apache-2.0
import Contract
import ServiceKit
import Settings

/// `martlet canary`: sends pushes through the whole pipeline at an interval, and reports their outcome.
enum CanaryCommand: Service {
  struct Settings: DeclaredSettings, Sendable {
    var canaries: [CanarySpecification] = []
    var cluster = ClusterSettings()

    @Declared(
      .text(
        "canary", placeholder: "APP,ENVIRONMENT,TOKEN|CHANNEL|user:NAME,EVERY",
        "Where canary pushes go and how often, such as com.example.app,production,00fc13ad…,1m: a test device's"
          + " token, which gets background pushes, a broadcast channel that nobody follows, or user: and the name of a"
          + " test user, whose devices are looked up as those of any user are. Several are separated by blanks."
      )) fileprivate var canaryText: String

    @Declared(
      .duration(
        "canary-timeout", default: "10s", in: 100...3_600_000,
        "A canary push without a receipt after this time, or after its interval if that is shorter, has failed."
      )) var timeoutMilliseconds: Int64

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      do throws(CanaryProblem) {
        canaries = try CanarySpecification.all(parsing: canaryText)
      } catch {
        throw SettingErrors("canary", error.text)
      }
      cluster = try ClusterSettings(values, clientID: "martlet-canary")
    }
  }

  static let name = "canary"
  static let summary = """
    Sends a push through the whole pipeline at an interval, as an application would, and follows the receipts: \
    whether it was delivered, and how long each part of the way took. Runs beside the other processes.
    """
  /// There are no files to reload.
  static let belongsToTerminal = true
  static let table = SettingTable(declaredBy: Settings.self, kafkaProperties: true)

  static func check(_ settings: Settings, _ context: ServiceContext) -> [Finding] {
    KafkaSurvey.run(settings.cluster.kafka, .canary, settings.cluster.names).findings
  }

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    let names = settings.cluster.names
    let found = try ClusterView.wait(
      settings.cluster.kafka, KafkaRights(of: .canary, names), of: names, context)
    guard let found else { return }
    let loop = try orFail { try CanaryLoop(settings, found.configuration, context) }
    context.reportReady()
    loop.run()
  }
}
