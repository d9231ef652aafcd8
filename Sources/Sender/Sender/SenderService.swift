// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import Glibc
import Kafka
import SenderDecisions
public import ServiceKit
public import Settings
import Synchronization

/// `martlet-sender`: takes notifications out of Kafka and delivers them to APNs.
///
/// The process's main thread is the control thread (`SenderControl`): consumer group, commits, provider
/// tokens. Each loop thread (`SenderLoop`) owns partitions, connections and everything in flight on them.
public enum SenderService: Service {
  public static let name = "martlet-sender"
  public static let summary = """
    Takes notifications out of Kafka and delivers them to the Apple Push Notification service over pooled \
    HTTP/2 connections. Start more copies to send more: they share the work as one consumer group.
    """
  public static let notesCrashes = true
  public static let table = SenderSettings.table

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> SenderSettings {
    try SenderSettings(values)
  }

  public static func run(
    _ settings: SenderSettings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    do {
      let settings = fitted(settings, context)
      let names = settings.names
      guard
        let cluster = try ClusterView.wait(
          settings.kafka, KafkaRights(of: .sender, names), optional: [names.controls], of: names,
          context)
      else { return }
      try start(settings, context, names, cluster).run()
    } catch {
      throw ServiceFailure(error)
    }
  }

  /// The settings with no more connections than files may be open.
  private static func fitted(
    _ settings: SenderSettings, _ context: ServiceContext
  ) -> SenderSettings {
    var fitted = settings
    let files = OpenFileLimit.raise()
    if fitted.fit(openFiles: files) {
      context.log(
        SenderLog.fewOpenFiles,
        [
          "open_files": "\(files)", "max_connections_total": "\(settings.connectionsTotal)",
          "allowed": "\(fitted.connectionsTotal)",
        ])
    }
    return fitted
  }

  private static func start(
    _ settings: SenderSettings, _ context: ServiceContext, _ names: TopicNames,
    _ cluster: ClusterView
  ) throws -> SenderControl {
    var cluster = cluster
    let subscribed = SenderControl.subscribed(names)
    // All partitions of the topics: what this process owns if it is the only one.
    cluster.configuration.dividePrefetch(among: cluster.partitions(of: subscribed))
    // Receipts are batched before they get there.
    cluster.configuration.preferLinger(milliseconds: KafkaDefaults.lingerOfSenders)
    cluster.configuration.preferSpreading()
    let kafka = cluster.configuration
    let access = try GatewayAccess(
      roots: settings.gatewayRoots, certificates: settings.certificates,
      groups: settings.tlsGroups)
    warnAboutRoots(settings, access, context)
    let inbox = Mailbox<ControlMessage>(wakeup: Wakeup())
    var loops: [Mailbox<LoopMessage>] = []
    for number in 0..<settings.loops {
      let loopInbox = Mailbox<LoopMessage>(wakeup: Wakeup())
      loops.append(loopInbox)
      try startLoop(number, settings, context, access, names, cluster, loopInbox, inbox)
    }
    let tokens = try FollowedTopic(names.providerTokens, cluster, wakeup: inbox.wakeup)
    let requests = try TokenRequests(kafka, names, context, wakeup: inbox.wakeup)
    let controls = try FollowedTopic(names.controls, cluster, wakeup: inbox.wakeup)
    if !controls.exists {
      context.log(
        SenderLog.noControlsTopic, ["topic": names.controls, "remedy": "martlet topics create"])
    }
    let devices = try FollowedTopic(
      names.invalidTokens, cluster, wakeup: inbox.wakeup, since: DeviceFeed.past)
    return try SenderControl(
      settings, context, kafka: kafka, topics: names, tokens: tokens, controls: controls,
      devices: devices, requests: requests, inbox: inbox, loops: loops,
      coverage: CoverageWarning(loops: settings.loops, names))
  }

  private static func warnAboutRoots(
    _ settings: SenderSettings, _ access: GatewayAccess, _ context: ServiceContext
  ) {
    guard let root = missingRoot(settings, access.tls) else { return }
    context.log(SenderLog.appleRootMissing, ["missing": root.commonName])
  }

  /// The root by which Apple's gateways are to be verified, if a gateway is Apple's and nothing trusts it: not
  /// every system has that root. Other gateways are nobody's affair.
  static func missingRoot(_ settings: SenderSettings, _ tls: TLSContext) -> RootName? {
    guard reachesApple(settings) else { return nil }
    return tls.trusts(.userTrustRSA) ? nil : .userTrustRSA
  }

  static func reachesApple(_ settings: SenderSettings) -> Bool {
    GatewayKind.allCases.contains {
      settings.gateway($0).host.lowercased().hasSuffix(".push.apple.com")
    }
  }

  /// Starts a loop on a thread of its own; the loop is built there and never leaves it.
  private static func startLoop(
    _ number: Int, _ settings: SenderSettings, _ context: ServiceContext, _ access: GatewayAccess,
    _ names: TopicNames, _ cluster: ClusterView, _ inbox: Mailbox<LoopMessage>,
    _ control: Mailbox<ControlMessage>
  ) throws {
    let thread = try LoopThread(name: "loop-\(number)") {
      do {
        let loop = try SenderLoop(
          settings, context, access: access, names: names, cluster: cluster, inbox: inbox,
          control: control,
          seed: MonotonicClock.nanoseconds() &+ UInt64(number) &+ UInt64(getpid()) << 32,
          name: "loop-\(number)")
        loop.run()
      } catch {
        context.log(SenderLog.loopNotStarted, ["error": "\(error)"])
        control.post(.ended)
      }
    }
    thread.detach()
  }
}
