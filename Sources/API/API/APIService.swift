// SPDX-License-Identifier: Apache-2.0
import Access
public import Contract
import Crypto
import EventLoop
public import ServiceKit
public import Settings

/// `martlet-api`: accepts notification requests over HTTP and produces them to Kafka.
///
/// A single thread (`APILoop`) runs the HTTP server and the producer. It keeps no state, so it scales by instances.
public enum APIService: Service {
  public static let name = "martlet-api"
  public static let summary =
    "Takes notification requests over HTTP (POST /v1/notifications) and answers when Kafka has them, with a verdict on"
    + " each; registers devices, and tells which tokens are invalid. Start more copies behind a load balancer to take more."
  public static let notesCrashes = true
  public static let table = APISettings.table

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> APISettings {
    try APISettings(values)
  }

  public static func check(_ settings: APISettings, _ context: ServiceContext) -> [Finding] {
    let names = TopicNames(prefix: settings.topicPrefix)
    return KafkaSurvey.run(settings.kafka, .api, names).findings + [keys(settings.keys)]
      + identity(settings)
  }

  static func keys(_ path: String) -> Finding {
    let remedy = "martlet keys api makes a key and its entry"
    do throws(APIKeysFile.Failure) {
      let now = WallClock.milliseconds()
      let keys = try APIKeysFile.read(path).keys
      let count = keys.count { !$0.isExpired(now: now) }
      guard count > 0 else {
        let what = keys.isEmpty ? "has no key" : "has only keys that have expired"
        return .warning(.credential, path, "\(what): every request is refused", remedy: remedy)
      }
      return .ok(.credential, path, count == 1 ? "has one API key" : "has \(count) API keys")
    } catch {
      return .error(.credential, path, "\(error)", remedy: remedy)
    }
  }

  static func identity(_ settings: APISettings) -> [Finding] {
    guard let certificate = settings.certificate, let key = settings.certificateKey else {
      return []
    }
    do throws(TLSError) {
      let end = try TLSIdentity.load(certificate: certificate, key: key).certificate().expiresAt
      let problem = CertificateFindings.expiry(
        of: certificate, at: end, now: WallClock.seconds(),
        remedy: "renew it and put the new one in its place; martlet-api reads it by itself")
      return [problem ?? .ok(.certificate, certificate, "belongs to \(key)")]
    } catch {
      return [
        .error(
          .certificate, certificate, "\(error)",
          remedy: "--tls-certificate and --tls-key name a certificate and its key, both PEM")
      ]
    }
  }

  public static func run(
    _ settings: APISettings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let names = TopicNames(prefix: settings.topicPrefix)
    guard
      let cluster = try ClusterView.wait(
        settings.kafka, KafkaRights(of: .api, names), optional: [names.schedule, names.controls],
        of: names, context)
    else { return }
    try APILoop(settings, context, names, cluster).run()
  }
}
