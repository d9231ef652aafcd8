// SPDX-License-Identifier: Apache-2.0

/// One setting of a program: its name, what it may hold, its default and what it means.
///
/// The same record serves the flag (`--drain-timeout 30s`), the environment
/// (`MARTLET_DRAIN_TIMEOUT=30s`), the properties file (`drain-timeout = 30s`) and `--help`.
public struct Setting: Sendable {
  public enum Kind: Sendable, Equatable {
    /// Any text that is not empty.
    case text
    case integer(ClosedRange<Int>)
    /// A time span such as `200ms`, `5s`, `15m`, `1h`; the range is in milliseconds.
    case duration(ClosedRange<Int64>)
    /// A size such as `4096`, `64KiB`, `64MiB`; the range is in bytes.
    case bytes(ClosedRange<Int>)
    /// `true` or `false`; as a flag also bare (`--name`) or refused (`--no-name`).
    case boolean
    case choice([String])
    /// Words separated by commas.
    case list
    /// `host:port`.
    case endpoint
    /// `host:port`, or `off`.
    case endpointOrOff
    /// One or several `host:port`, separated by commas.
    case endpoints
    /// A name that Kafka takes for a topic, a group or a member, or what such names begin with: letters,
    /// digits, dots, dashes and underscores, at most so many.
    case kafkaName(longest: Int)
    /// A path of the file system, and what becomes of it.
    case path(PathUse)
  }

  /// The use that a program makes of a path, hence what must be true of it before the program starts.
  public enum PathUse: Sendable, Equatable {
    /// A file that is read: it is there, and this user may read it.
    case input
    /// A file that is written: this user may write it, or make it in its folder.
    case output
    /// A folder, made if it is not there: this user may write it, or make it.
    case folder
    /// A file that is written, or the URL of a database on a server.
    case database
  }

  /// Kebab-case, as it is written after `--`.
  public let name: String
  public let kind: Kind
  /// The default as an operator would write it; nil when the setting has none.
  public let defaultText: String?
  /// True if the program refuses to start without a value.
  public let isRequired: Bool
  /// True if the value must never be printed.
  public let isSecret: Bool
  /// One or two sentences: what it does, in which unit.
  public let documentation: String
  /// The placeholder for the value in `--help`, such as `HOST:PORT`.
  public let placeholder: String

  public init(
    _ name: String, _ kind: Kind, default defaultText: String? = nil, required: Bool = false,
    secret: Bool = false, placeholder: String? = nil, _ documentation: String
  ) {
    self.name = name
    self.kind = kind
    self.defaultText = defaultText
    isRequired = required
    isSecret = secret
    self.documentation = documentation
    self.placeholder = placeholder ?? kind.placeholder
  }

  /// The name of the environment variable: `drain-timeout` is `MARTLET_DRAIN_TIMEOUT`.
  public var environmentName: String {
    Setting.environmentPrefix + String(name.map { $0 == "-" ? "_" : $0 }).uppercased()
  }

  public static let environmentPrefix = "MARTLET_"
}

extension Setting.Kind {
  var placeholder: String {
    switch self {
    case .text: "TEXT"
    case .integer: "N"
    case .duration: "TIME"
    case .bytes: "SIZE"
    case .boolean: ""
    case .choice(let words): words.joined(separator: "|")
    case .list: "A,B,…"
    case .endpoint: "HOST:PORT"
    case .endpointOrOff: "HOST:PORT|off"
    case .endpoints: "HOST:PORT[,…]"
    case .kafkaName: "NAME"
    case .path(.folder): "FOLDER"
    case .path(.database): "FILE|URL"
    case .path: "FILE"
    }
  }
}
