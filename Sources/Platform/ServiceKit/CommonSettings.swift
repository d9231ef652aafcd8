// SPDX-License-Identifier: Apache-2.0
import Contract
public import Settings
import Telemetry

/// Settings that several programs share, so that they are named and explained once.
public enum CommonSettings {
  /// The bootstrap address; a service adds it to its table when it uses Kafka.
  public static let kafka = SettingKey<[Endpoint]>.endpoints(
    "kafka", default: "localhost:9092",
    "Addresses of the Kafka cluster (bootstrap.servers), or of martlet broker.")

  public static let topicPrefix = SettingKey<String>.kafkaName(
    "topic-prefix", default: TopicNames.defaultPrefix, longest: TopicNames.longestPrefix,
    placeholder: "PREFIX",
    "Prefix of all topic names; the same for every process of a pipeline.")

  /// Group members with a stable name keep their partitions over a restart.
  public static let instanceID = SettingKey<String?>.kafkaName(
    "instance-id",
    "Name of this copy in its consumer group (group.instance.id), unique and the same after each"
      + " restart. Without it every restart moves partitions.")

  public static let tokenKey = SettingKey<String?>.path(
    "token-key", placeholder: "FILE",
    "File with the key that encrypts provider tokens on their topic: 32 bytes in hex or base64, readable by"
      + " its owner only; the same file for signers, senders and martlet channels. Further lines are older"
      + " keys that still decrypt. SIGHUP reloads it. Without it tokens are published in plain text."
  )

  static let logLevel = SettingKey<String>.choice(
    "log-level", of: ["debug", "info", "warning", "error"], default: "info",
    "Lowest level that is logged to standard error.")

  static let logFormat = SettingKey<String>.choice(
    "log-format", of: LogFormat.allCases.map(\.rawValue), default: LogFormat.text.rawValue,
    "Form of the log: text for people, logfmt or json (one object per line) for programs.")

  static let countersInterval = SettingKey<Int64>.duration(
    "counters-interval", default: "10s", in: 0...3_600_000,
    "Interval between two lines of counters on standard error; 0s prints none.")

  public static let stopTimeout = SettingKey<Int64>.duration(
    "stop-timeout", default: "25s", in: 0...3_600_000,
    "Longest time for a stop (SIGTERM). Then the process exits at once: nothing is lost, and uncommitted"
      + " records are processed again. A second signal shortens it to 2s.")

  /// How long a stop waits for what is under way.
  public static func drainTimeout(_ documentation: String) -> SettingKey<Int64> {
    .duration("drain-timeout", default: "10s", in: 0...600_000, documentation)
  }

  /// Refuses a drain that the end of the stop would cut off: what is complete would not be committed.
  static func checkStop(_ values: SettingValues) throws(SettingErrors) {
    let drain = drainTimeout("")
    guard values.table[drain.name] != nil, values.isGiven(drain.name),
      values[drain] >= values[stopTimeout]
    else { return }
    let limit = values.written(stopTimeout.name) ?? ""
    throw values.error(drain.name, "must be shorter than stop-timeout, \(limit)")
  }

  /// The address of the status pages; nil without any.
  public static let http = SettingKey<Endpoint?>.endpointOrOff(
    "http", default: "127.0.0.1:0",
    "Where the status pages are: /metrics, /healthz, /readyz, /version, /debug/state. Port 0 takes a free one,"
      + " which the log names; off serves none. They hold no secret, but do not expose them."
  )

  /// The file of crash notes; nil for the usual place.
  static let crashNotes = SettingKey<String?>.path(
    "crash-notes", use: .output, placeholder: "FILE",
    "File in which a crash notes the record that was in hand: one that crashed the process twice is not worked on"
      + " again. Must survive a restart. Default: crash-notes in $STATE_DIRECTORY, which systemd sets, else"
      + " NAME.crash-notes in /tmp/martlet-UID.")

  public static let httpNames = SettingKey<[String]>.list(
    "http-names", placeholder: "NAME",
    "Names besides addresses and localhost under which the status pages answer, such as *.example.com; where they do"
      + " not listen on the loopback, names without a dot need not be listed. Others are refused, so that no web page"
      + " reaches them under a name of its own (DNS rebinding).")

  public static let audienceTopics = SettingKey<[String]>.list(
    "audience-topics", placeholder: "PREFIX",
    "Beginnings of the names of topics whose device tokens campaigns may be for, besides push.audiences and those that"
      + " begin with push.audiences. (with the topic prefix for push.): whoever starts a campaign names the topic. No"
      + " other topic of the pipeline is ever one. The scheduler, the HTTP API and martlet campaign start need the same."
  )

  /// A service's table with the settings that the harness adds.
  public static func table<S: Service>(of service: S.Type) -> SettingTable {
    let own = S.table
    let everywhere = [logLevel.setting, logFormat.setting, stopTimeout.setting]
    let counting = [http.setting, httpNames.setting, countersInterval.setting]
    let added =
      (S.notesCrashes ? [crashNotes.setting] : [])
      + (S.reportsCounters ? counting + everywhere : everywhere)
    return SettingTable(
      own.settings + added, kafkaProperties: own.takesKafkaProperties, operands: own.operands)
  }
}
