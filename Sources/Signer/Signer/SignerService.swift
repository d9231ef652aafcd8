// SPDX-License-Identifier: Apache-2.0
public import Contract
import EventLoop
import Kafka
import Records
public import ServiceKit
public import Settings

/// `martlet-signer`: mints provider tokens and publishes them for the senders.
///
/// Everything happens on one thread, in `SignerWorker`.
public enum SignerService: Service {
  public static let name = "martlet-signer"
  public static let summary = """
    Signs APNs provider tokens with the .p8 keys of its credentials file, publishes them for the senders and \
    renews them. Of several copies one mints; the others stand by.
    """
  public static let notesCrashes = true
  public static let table = SignerSettings.table

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> SignerSettings {
    try SignerSettings(values)
  }

  public static func check(_ settings: SignerSettings, _ context: ServiceContext) -> [Finding] {
    let credentials = settings.credentials.map {
      CredentialFacts(
        teamID: $0.teamID, keyID: $0.keyID, keyFile: $0.keyPath, environment: $0.scope.rawValue,
        apps: $0.apps)
    }
    return CredentialFindings.all(credentials)
      + [ClockFindings.local(isSynchronized: WallClock.isSynchronized)]
      + KafkaSurvey.run(settings.kafka, .signer, TopicNames(prefix: settings.topicPrefix)).findings
  }

  public static func run(
    _ settings: SignerSettings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    try orFail {
      let names = TopicNames(prefix: settings.topicPrefix)
      let rights = KafkaRights(of: .signer, names)
      guard let cluster = try ClusterView.wait(settings.kafka, rights, of: names, context) else {
        return
      }
      try SignerWorker(settings, context, names, cluster).run()
    }
  }
}
