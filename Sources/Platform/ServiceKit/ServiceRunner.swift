// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Kafka
import Settings
import Telemetry

/// Runs a process of the pipeline: the whole of an executable's `main`.
public func runService<S: Service>(_ service: S.Type) -> Never {
  StandardDescriptors.open()
  // A stop that comes while the settings are read waits, and is then a clean one.
  SignalSource.hold(Housekeeper.signals)
  ProcessSecrecy.quietenCrashes()
  let status = ServiceRunner.run(
    service, program: S.name, Array(CommandLine.arguments.dropFirst()), hidesMemory: true)
  end(StandardOutput.endStatus(status, program: S.name))
}

/// Ends the process. Everything is written, committed and left by now; a Kafka client that does not come to its end
/// changes nothing of that.
private func end(_ status: Int32) -> Never {
  if KafkaClientEnd.isUnderWay { _exit(status) }
  exit(status)
}

/// Runs the command that the first argument names: the whole of `martlet`'s `main`.
///
/// - Parameter sibling: the program beside this one that has further commands, if there is one.
public func runCommands(
  program: String, summary: String, _ commands: [any Service.Type], sibling: SiblingProgram? = nil,
  overview: CommandOverview? = nil
) -> Never {
  StandardDescriptors.open()
  SignalSource.hold(Housekeeper.signals)
  let arguments = CommandList.asked(Array(CommandLine.arguments.dropFirst()))
  if let sibling, sibling.hasCommand(arguments) {
    StandardError.line("\(program): \(sibling.run(program: program, arguments))", level: .error)
    exit(ServiceRunner.failed)
  }
  if let (name, successor) = overview?.moved(arguments) {
    StandardError.line(
      "\(program): \(program) \(name) is now \(program) \(successor)", level: .error)
    exit(ServiceRunner.misconfigured)
  }
  let words = commands.map { $0.name.split(separator: " ").map(String.init) }
  let matches = commands.indices.filter { arguments.starts(with: words[$0]) }
  if let index = matches.max(by: { words[$0].count < words[$1].count }) {
    let rest = Array(arguments.dropFirst(words[index].count))
    let name = "\(program) \(commands[index].name)"
    let status = ServiceRunner.run(commands[index], program: name, rest, among: commands)
    end(StandardOutput.endStatus(status, program: name))
  }
  let list = CommandList(
    program: program, summary: summary,
    (sibling?.commands ?? []) + commands.map { ($0.name, $0.summary) }, overview: overview)
  let answer = list.answer(arguments, width: Terminal.width)
  StandardOutput.write(answer.output)
  StandardError.write(answer.error)
  exit(StandardOutput.endStatus(answer.status, program: program))
}

/// The steps from arguments to exit status.
public enum ServiceRunner {
  public static let done: Int32 = 0
  public static let failed: Int32 = 1
  public static let misconfigured: Int32 = 2

  /// - Parameters:
  ///   - hidesMemory: for a process of its own that holds secrets (`ProcessSecrecy`).
  ///   - commands: all of the program, which share an environment.
  public static func run<S: Service>(
    _ service: S.Type, program: String, _ arguments: [String], hidesMemory: Bool = false,
    among commands: [any Service.Type] = []
  ) -> Int32 {
    let table = CommonSettings.table(of: service)
    do throws(SettingErrors) {
      let flags = try CommandLineFlags(arguments, for: table)
      if flags.isHelp {
        let help = HelpText(program: program, summary: S.summary, table: table)
        StandardOutput.write(help.text(width: Terminal.width))
        return done
      }
      if flags.isVersion {
        for line in Version.lines(program) { StandardOutput.line(line) }
        return done
      }
      if flags.isCheck { return Checkup.run(service, program: program, flags, table, commands) }
      let values = try read(flags, table, among: commands)
      if hidesMemory { ProcessSecrecy.hideMemory() }
      let settings = try S.settings(values)
      try KafkaConfiguration.checkTogether(values)
      if flags.isCheckConfig {
        for warning in values.warnings {
          StandardError.line("\(program): warning: \(warning)", level: .warning)
        }
        for line in values.report { StandardOutput.line(line) }
        return done
      }
      return start(service, program: program, settings, values)
    } catch {
      for error in error.errors { StandardError.line("\(program): \(error)", level: .error) }
      return misconfigured
    }
  }

  private static func start<S: Service>(
    _ service: S.Type, program: String, _ settings: S.Settings, _ values: SettingValues
  ) -> Int32 {
    let level = LogLevel(text: values[CommonSettings.logLevel]) ?? .info
    let format = LogFormat(rawValue: values[CommonSettings.logFormat]) ?? .text
    let log = Logger(service: program.replacingBlanks, level: level, format: format)
    KafkaLog.show(from: level, as: format)
    for warning in values.warnings { log(ServiceKitLog.variableIgnored, ["problem": "\(warning)"]) }
    if let path = values.fileWithSecrets,
      let problem = (try? File.exposure(of: path)) ?? nil
    {
      log(ServiceKitLog.settingsExposed, ["problem": problem])
    }
    log(ServiceKitLog.settings, values.given.map { ($0.name, .text($0.value)) })
    let isQuiet = S.isQuiet(settings) && !values.isGiven(CommonSettings.countersInterval.name)
    let interval = S.reportsCounters && !isQuiet ? values[CommonSettings.countersInterval] : 0
    let context = ServiceContext(
      name: program, log: log, values: values,
      crashNotes: CrashNotesFile.notes(of: program, S.notesCrashes, values, log))
    // Whatever the program reads without a group.
    CrashNotes.leaveOut { context.isDeadly($0) }
    do throws(SystemError) {
      // Before any other thread.
      let keeper = try Housekeeper(context, reportsEvery: interval, reloads: !S.belongsToTerminal)
      let failure = outcome(service, settings, context)
      keeper.finish()
      // What somebody stopped has not failed.
      if let failure {
        log.failure("\(failure)", level: failure.status > 128 ? .warning : .error)
      }
      return failure?.status ?? done
    } catch {
      log.failure("\(error)")
      return failed
    }
  }

  private static func outcome<S: Service>(
    _ service: S.Type, _ settings: S.Settings, _ context: ServiceContext
  ) -> ServiceFailure? {
    do throws(ServiceFailure) {
      let server = try statusServer(service, context)
      defer { withExtendedLifetime(server) {} }
      context.systemd.started()
      try S.run(settings, context)
      return context.failure
    } catch {
      return error
    }
  }

  private static func statusServer<S: Service>(
    _ service: S.Type, _ context: ServiceContext
  ) throws(ServiceFailure) -> StatusServer? {
    guard S.reportsCounters,
      let endpoint = context.values[CommonSettings.http]
    else { return nil }
    let server = try StatusServer(
      endpoint, names: context.values[CommonSettings.httpNames], context)
    context.log(ServiceKitLog.statusPages, ["url": server.url])
    return server
  }

  static func read(
    _ flags: CommandLineFlags, _ table: SettingTable, among commands: [any Service.Type]
  ) throws(SettingErrors) -> SettingValues {
    let environment = try ProcessEnvironment.read()
    var file: PropertiesFile?
    if let path = flags.configPath ?? environment["MARTLET_CONFIG"] {
      file = try propertiesFile(path)
    }
    let values = try table.read(
      flags, environment: environment, file: file, isKafkaProperty: KafkaConfiguration.hasProperty,
      isOfOthers: { variable in
        commands.contains { command in
          CommonSettings.table(of: command)
            .knows(variable: variable, isKafkaProperty: KafkaConfiguration.hasProperty)
        }
      })
    try SettingPaths.check(values)
    try CommonSettings.checkStop(values)
    return values
  }

  private static func propertiesFile(_ path: String) throws(SettingErrors) -> PropertiesFile {
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try File.read(path)
    } catch {
      throw SettingErrors("config", "\(error)")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw SettingErrors("config", "\(path) is not UTF-8 text")
    }
    return try PropertiesFile(parsing: text, path: path)
  }
}

extension String {
  /// `martlet demo` as one word of a log line: `martlet-demo`.
  var replacingBlanks: String { String(map { $0 == " " ? "-" : $0 }) }
}
