// SPDX-License-Identifier: Apache-2.0
import Pipeline
package import ServiceKit
package import Settings

/// `martlet-api`: takes notification requests over HTTP and produces them to Kafka.
///
/// One thread does everything (`APILoop`): the HTTP server and the producer. It holds no state, so it scales by copies.
package enum APIService: Service {
  package static let name = "martlet-api"
  package static let summary =
    "Takes notification requests over HTTP (POST /v1/notifications) and answers when Kafka has them, with a verdict on"
    + " each. Start more copies behind a load balancer to take more."
  package static let table = APISettings.table

  package static func settings(_ values: SettingValues) throws(SettingErrors) -> APISettings {
    try APISettings(values)
  }

  package static func run(
    _ settings: APISettings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let names = TopicNames(prefix: settings.topicPrefix)
    guard
      let cluster = try ClusterView.wait(
        settings.kafka, topics: [names.requests], of: names, context)
    else { return }
    try APILoop(settings, context, names, cluster).run()
  }
}
