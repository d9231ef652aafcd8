// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Kafka
import Pipeline
package import ServiceKit
package import Settings

/// `martlet-signer`: mints provider tokens and publishes them for the senders.
///
/// Everything happens on one thread, in `SignerWorker`.
package enum SignerService: Service {
  package static let name = "martlet-signer"
  package static let summary = """
    Signs APNs provider tokens with the .p8 keys of its credentials file, publishes them for the senders and \
    renews them. Of several copies one mints; the others stand by.
    """
  package static let table = SignerSettings.table

  package static func settings(_ values: SettingValues) throws(SettingErrors) -> SignerSettings {
    try SignerSettings(values)
  }

  package static func run(
    _ settings: SignerSettings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    do {
      let names = TopicNames(prefix: settings.topicPrefix)
      let topics = [names.providerTokens, names.tokenRequests]
      guard let cluster = try ClusterView.wait(settings.kafka, topics: topics, of: names, context)
      else {
        return
      }
      try SignerWorker(settings, context, names, cluster).run()
    } catch let failure as ServiceFailure {
      throw failure
    } catch {
      throw ServiceFailure("\(error)")
    }
  }
}
