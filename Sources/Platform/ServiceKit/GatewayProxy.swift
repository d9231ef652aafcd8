// SPDX-License-Identifier: Apache-2.0
import EventLoop
public import Settings

extension CommonSettings {
  /// The proxy's address, perhaps with credentials: a secret.
  public static let proxy = SettingKey<String?>.text(
    "proxy", secret: true, placeholder: "URL",
    "HTTP proxy for the gateways (CONNECT): http://host:port or http://user:password@host:port,"
      + " percent-encoded. Prefer proxy-credentials for the password.")

  public static let proxyCredentials = SettingKey<String?>.path(
    "proxy-credentials", placeholder: "FILE",
    "File with one line user:password for the proxy, readable by its owner only.")
}

/// The HTTP proxy between this process and the gateways.
public struct GatewayProxy: Sendable {
  public let endpoint: Endpoint
  /// `user:password`, a secret; nil without one.
  public let credentials: String?

  /// The proxy that the settings name; nil for none.
  public init?(_ url: String?, file: String?, _ values: SettingValues) throws(SettingErrors) {
    guard let url else {
      guard file == nil else { throw values.error("proxy-credentials", "needs proxy") }
      return nil
    }
    let parsed: ProxyURL
    do throws(ValueProblem) {
      parsed = try ProxyURL(parsing: url)
    } catch {
      throw values.error("proxy", error.text)
    }
    endpoint = parsed.endpoint
    guard let file else {
      credentials = parsed.credentials
      return
    }
    guard parsed.credentials == nil else {
      throw values.error("proxy-credentials", "the proxy's URL has credentials already")
    }
    credentials = try Self.credentials(file, values)
  }

  private static func credentials(
    _ path: String, _ values: SettingValues
  ) throws(SettingErrors) -> String {
    let (problem, bytes) = try values.orError("proxy-credentials") {
      (try File.exposure(of: path), try File.read(path, limit: 4_096))
    }
    if let problem { throw values.error("proxy-credentials", problem) }
    let line = bytes.prefix { $0 != 0x0A && $0 != 0x0D }
    guard let text = String(validating: line, as: UTF8.self), text.contains(":"),
      text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
    else { throw values.error("proxy-credentials", "\(path) is not one line user:password") }
    return text
  }
}
